/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-util.h"
#include "options.h"

/* Runs a command whose control group has said which of its pages go first, as cachebpf-policy(7) has it of
 * the policy acfs, and prints what the command and all that it waited for took.  A program's pages are those
 * of its control group, so another one can speak for it. */

#define ADVICE 0x43420000
#define LEVEL_MIN (-1)
#define LEVEL_MAX 3

enum {
        SET_PRIORITY = 1,
        SET_REPLACEMENT = 3,
};

static struct {
        const char *input, *output;
} arg = { "/dev/null", "/dev/null" };

static int say(const char *path, int what, int level, int more) {
        int fd, r;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return log_error(-errno, "Cannot open %s: %s", path, strerror(errno));
        /* posix_fadvise() is not meant to have answers */
        r = (int) syscall(SYS_fadvise64, fd, (off_t) 0, (off_t) 0,
                          ADVICE | what << 8 | (level - LEVEL_MIN) << 4 | more);
        if (r < 0)
                r = log_error(-errno, "The policy does not take it of %s: %s", path, strerror(errno));
        close(fd);
        return r;
}

/* The level, and where its text ends; or -EINVAL, with a message. */
static int parse_level(const char *text, int *ret, char **ret_end) {
        long level;

        level = strtol(text, ret_end, 10);
        if (*ret_end == text || level < LEVEL_MIN || level > LEVEL_MAX)
                return log_error(-EINVAL, "%s: a level is one of %d to %d", text, LEVEL_MIN, LEVEL_MAX);
        *ret = (int) level;
        return 0;
}

/* LEVEL:lru or LEVEL:mru */
static int say_level(const char *text, void *unused) {
        char *end;
        int level, r;

        (void) unused;
        r = parse_level(text, &level, &end);
        if (r < 0)
                return r;
        if (strcmp(end, ":lru") != 0 && strcmp(end, ":mru") != 0)
                return log_error(-EINVAL, "--level=%s: LEVEL:lru or LEVEL:mru is wanted", text);
        return say("/proc/self/exe", SET_REPLACEMENT, level, end[1] == 'm');
}

/* LEVEL:PATH */
static int say_file(const char *text, void *unused) {
        char *end;
        int level, r;

        (void) unused;
        r = parse_level(text, &level, &end);
        if (r < 0)
                return r;
        if (*end != ':')
                return log_error(-EINVAL, "--file=%s: LEVEL:PATH is wanted", text);
        return say(end + 1, SET_PRIORITY, level, 0);
}

static void help(void) {
        printf("%s [--level=LEVEL:lru|mru]… [--file=LEVEL:PATH]… [--input=FILE] [--output=FILE] -- "
               "COMMAND…\n\n"
               "Says to the policy acfs what these options say, in their order, runs COMMAND, and prints\n"
               "its time and what it read from disks as JSON.\n",
               program_invocation_short_name);
}

static int redirect(const char *path, int flags, int to) {
        int fd;

        fd = open(path, flags, 0644);
        if (fd < 0 || dup2(fd, to) < 0)
                return log_error(-errno, "Cannot open %s: %s", path, strerror(errno));
        close(fd);
        return 0;
}

static int execute(char *command[]) {
        if (redirect(arg.input, O_RDONLY, STDIN_FILENO) < 0 ||
            redirect(arg.output, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO) < 0)
                return EXIT_FAILURE;
        execvp(command[0], command);
        log_error(-errno, "Cannot run %s: %s", command[0], strerror(errno));
        return EXIT_FAILURE;
}

static double seconds(struct timeval t) {
        return (double) t.tv_sec + (double) t.tv_usec / 1e6;
}

static int run(char *command[]) {
        uint64_t began = now_nsec(), calendar = calendar_nsec();
        struct rusage used;
        int status;
        pid_t pid;

        pid = fork();
        if (pid < 0)
                return log_error(-errno, "Cannot fork: %s", strerror(errno));
        if (pid == 0)
                _exit(execute(command));
        if (wait4(pid, &status, 0, &used) < 0)
                return log_error(-errno, "Cannot wait: %s", strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return log_error(-EIO, "%s failed (status %#x)", command[0], (unsigned) status);

        /* the kernel tells of bytes as if they were blocks of 512 */
        printf("{\"begin\": %.6f, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes_from_disk\": %ld}\n",
               (double) calendar / NSEC_PER_SEC, (double) (now_nsec() - began) / NSEC_PER_SEC,
               seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_inblock * 512);
        return 0;
}

int main(int argc, char *argv[]) {
        const Option options[] = {
                { "level",  .parse = say_level   },
                { "file",   .parse = say_file    },
                { "input",  .text = &arg.input   },
                { "output", .text = &arg.output  },
        };
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (optind == argc) {
                log_error(-EINVAL, "A command is missing; see --help");
                return EXIT_FAILURE;
        }
        return run(argv + optind) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
