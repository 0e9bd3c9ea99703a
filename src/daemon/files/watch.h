/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "internal.h"

/* The directories that were searched, of all managers: they share one inotify, and the number of directories
 * that may be watched. Searches add the watches, before they look into a directory. */
FileWatches *file_watches_new(sd_event *event);
FileWatches *file_watches_free(FileWatches *w);

/* To be kept by the search; -EBADF: there is none now. */
int file_watches_fd(const FileWatches *w);
/* How many directories the manager may have watched, with those that it has. */
unsigned file_watches_room(const FileWatches *w, const FileManager *m);

/* A search begins; there is one at a time. It may have watched directories before we know of them. */
void file_watches_begin(FileWatches *w);
/* It is over. */
void file_watches_end(FileWatches *w);
/* The manager has these directories now, and is marked dirty if something happened to them meanwhile. */
void file_watches_replace(FileWatches *w, FileManager *m, const FileSearch *found);
void file_watches_remove(FileWatches *w, const FileManager *m);
