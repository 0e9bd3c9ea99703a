/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "turns.h"

/* One with many clients has no more of the turns than one with a single client. */
struct TurnUser {
        uid_t uid;
        GQueue waiting; /* of Turn */
        bool queued;    /* in the queue of users */
        unsigned n_clients;
};

struct Turn {
        Varlink *varlink;
        TurnUser *user;
        sd_varlink *link;
        sd_event_source *io; /* off while it waits */
        bool hung_up;
};

static TurnUser *find_user(Varlink *v, uid_t uid) {
        return g_hash_table_lookup(v->turn_users, GUINT_TO_POINTER(uid));
}

static TurnUser *user_ref(Varlink *v, uid_t uid) {
        TurnUser *u = find_user(v, uid);

        if (!u) {
                u = g_new0(TurnUser, 1);
                u->uid = uid;
                (void) g_hash_table_insert(v->turn_users, GUINT_TO_POINTER(uid), u);
        }
        u->n_clients++;
        return u;
}

static void user_unref(Varlink *v, TurnUser *u) {
        if (--u->n_clients > 0)
                return;

        (void) g_queue_remove(v->turns, u);
        (void) g_hash_table_remove(v->turn_users, GUINT_TO_POINTER(u->uid));
        free(u);
}

static void queue_user(Varlink *v, TurnUser *u) {
        if (u->queued || g_queue_is_empty(&u->waiting))
                return;

        u->queued = true;
        g_queue_push_tail(v->turns, u);
}

static void turn_free(void *p) {
        Turn *t = p;

        (void) g_queue_remove(&t->user->waiting, t);
        user_unref(t->varlink, t->user);
        sd_event_source_disable_unref(t->io);
        free(t);
}

static int on_io(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Turn *t = ASSERT_PTR(userdata);
        int r;

        t->hung_up = t->hung_up || (revents & (EPOLLHUP | EPOLLERR));
        g_queue_push_tail(&t->user->waiting, t);
        queue_user(t->varlink, t->user);

        r = sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return r < 0 ? r : sd_event_source_set_enabled(t->varlink->turn_source, SD_EVENT_ON);
}

static int on_prepare(sd_event_source *s, void *userdata) {
        Turn *t = ASSERT_PTR(userdata);
        int events = sd_varlink_get_events(t->link);

        return events < 0 ? events : sd_event_source_set_io_events(s, (uint32_t) events);
}

/* Returns whether it is to have another one. */
static bool take_turn(Varlink *v, sd_varlink *link) {
        int r = sd_varlink_process(link);
        Turn *t = g_hash_table_lookup(v->turn_of, link);

        if (!t)
                return false; /* it has gone */
        if (r != 0)
                return true;

        if (t->hung_up)
                (void) sd_varlink_close(link); /* sd-varlink cannot know */
        else
                (void) sd_event_source_set_enabled(t->io, SD_EVENT_ON);
        return false;
}

static int on_turn(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);
        TurnUser *u = g_queue_pop_head(v->turns);
        Turn *t = u ? g_queue_pop_head(&u->waiting) : NULL;

        if (u)
                u->queued = false;
        if (t) {
                sd_varlink *link = sd_varlink_ref(t->link);
                uid_t uid = u->uid;

                if (take_turn(v, link))
                        g_queue_push_tail(&u->waiting, t);
                sd_varlink_unref(link);

                u = find_user(v, uid); /* maybe all clients have gone */
                if (u)
                        queue_user(v, u);
        }

        return g_queue_is_empty(v->turns) ? sd_event_source_set_enabled(s, SD_EVENT_OFF) : 0;
}

int turns_start(Varlink *v) {
        /* Ready all the time. A deferred event would go before all that came later, again and again. */
        _cleanup_close_ int fd = eventfd(1, EFD_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;

        v->turns = g_queue_new();
        v->turn_users = g_hash_table_new(NULL, NULL);
        v->turn_of = g_hash_table_new_full(NULL, NULL, NULL, turn_free);

        r = sd_event_add_io(v->control->manager->event, &v->turn_source, fd, EPOLLIN, on_turn, v);
        if (r < 0)
                return r;

        r = sd_event_source_set_io_fd_own(v->turn_source, true);
        if (r < 0)
                return r;
        TAKE_FD(fd);

        r = sd_event_source_set_priority(v->turn_source, PRIORITY_USERS);
        return r < 0 ? r : sd_event_source_set_enabled(v->turn_source, SD_EVENT_OFF);
}

void turns_stop(Varlink *v) {
        if (v->turn_of)
                g_hash_table_unref(v->turn_of);
        if (v->turn_users)
                g_hash_table_unref(v->turn_users);
        if (v->turns)
                g_queue_free(v->turns);
        v->turn_of = v->turn_users = NULL;
        v->turns = NULL;
        v->turn_source = sd_event_source_disable_unref(v->turn_source);
}

int turns_add(Varlink *v, sd_varlink *link, uid_t uid) {
        int fd = sd_varlink_get_fd(link), r;
        Turn *t;

        if (fd < 0)
                return fd;

        t = g_new0(Turn, 1);
        t->varlink = v;
        t->user = user_ref(v, uid);
        t->link = link;
        (void) g_hash_table_insert(v->turn_of, link, t);

        sd_varlink_detach_event(link);
        r = sd_event_add_io(v->control->manager->event, &t->io, fd, 0, on_io, t);
        if (r >= 0)
                r = sd_event_source_set_priority(t->io, PRIORITY_USERS);
        if (r >= 0)
                r = sd_event_source_set_prepare(t->io, on_prepare);
        if (r < 0)
                turns_remove(v, link);
        return r;
}

void turns_remove(Varlink *v, sd_varlink *link) {
        (void) g_hash_table_remove(v->turn_of, link);
}
