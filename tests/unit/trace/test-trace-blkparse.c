/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace-test.h"

#include <stdio.h>

/* As blkparse prints it; sectors of 512 bytes, 8 to a page. */
static const char text[] =
        "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n"
        "  8,0    3        2     0.000001829   697  P   R [kjournald]\n"
        "  8,0    3        3     0.000002197   697  Q   W 223488 + 8 [kjournald]\n"
        "  8,0    3        4     0.000004000   697  Q  RA 223496 + 16 [Web Content]\n"
        "  8,0    3        5     0.000005000   697  A   R 223496 + 8 <- (8,1) 221440\n"
        "  8,16   1        1     0.000006000     0  Q FWFS 223488 + 8 [kworker/1:0]\n"
        "  8,0    3        6     0.000007000   697  Q  FWS [kjournald]\n"
        "  8,0    3        7     0.000008000   697  U   N [kjournald] 1\n"
        "  8,0    3        8     0.000009000   697  D   W 223488 + 24 [kjournald]\n"
        "  8,0    3        0     0.000009500     0  m   N cfq697S dispatch\n"
        "  8,0    3        9     0.000010000     0  C   W 223488 + 24 [0]\n"
        "  8,0    3       10     0.000011000   697  Q   D 223488 + 8 [fstrim]\n"
        "  8,0    3       11     0.000012000   697  Q   N 0 (00 ..) [smartd]\n"
        "  8,0    3       12     0.000012000   697  Q   R 36 (12 00 00 00 24 00 ..) [smartd]\n"
        "  8,0    3       13     0.000013000   697  Q  WS 7 + 2 [sync]\n"
        "CPU3 (sda):\n"
        " Reads Queued:           2,        8KiB\t Writes Queued:           3,       13KiB\n"
        "\n"
        "Total (sda):\n"
        " Reads Queued:           2,        8KiB\t Writes Queued:           3,       13KiB\n"
        "\n"
        "Throughput (R/W): 0KiB/s / 0KiB/s\n"
        "Events (sda): 13 entries\n"
        "Skips: 0 forward (0 -   0.0%)\n";

static void test_good(void **state) {
        check_trace(good("blkparse", text), OBJECTS(0, 1, 2, 3, 0, 4, 5),
                    FLAGS(TRACE_WRITE, 0, 0, TRACE_WRITE, TRACE_REMOVE, TRACE_WRITE, TRACE_WRITE));
        check_trace(good("auto", text), OBJECTS(0, 1, 2, 3, 0, 4, 5), NULL);

        check_trace(good("blkparse:action=D", text), OBJECTS(0, 1, 2),
                    FLAGS(TRACE_WRITE, TRACE_WRITE, TRACE_WRITE));
        check_trace(good("blkparse:action=C", text), OBJECTS(0, 1, 2), NULL);
        check_trace(good("blkparse:action=G", text), OBJECTS(0, 1), NULL); /* across two pages */
}

static void test_threads(void **state) {
        static const char cut_off[] = "  8,0    3        1     0.000000000   697  Q   R 0 + 8 [kjour\n";

        check_trace(good("blkparse:scan-threads=Web*,background-threads=kjour*", text),
                    OBJECTS(0, 1, 2, 3, 0, 4, 5),
                    FLAGS(2 << 4 | TRACE_WRITE, 1 << 4, 1 << 4, TRACE_WRITE, TRACE_REMOVE, TRACE_WRITE,
                          TRACE_WRITE));
        check_trace(good("blkparse:scan-threads=*", cut_off), OBJECTS(0), FLAGS(0));
}

#define EVENT "8,0 3 1 0.000000000 697 Q R "

static void test_malformed(void **state) {
        static const char other[] = ": this is no line of blkparse's default format: "
                                    "device, cpu, number, time, process, action";
        static const char *const lines[] = {
                "8 3 1 0.000000000 697 Q R 0 + 8 [x]",
                "8,0 3 1 0 697 Q R 0 + 8 [x]",
                "8,0 x 1 0.000000000 697 Q R 0 + 8 [x]",
                "8,0 3 1 0.000000000 - Q R 0 + 8 [x]",
                "8,0 3 1 0.000000000 697",
                "8,0 3 1 0.000000000 697 7 R 0 + 8 [x]",
                "Reads Queued: 5",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                char content[256], message[256];

                (void) snprintf(content, sizeof(content), EVENT "0 + 8 [x]\n%s\n", lines[i]);
                (void) snprintf(message, sizeof(message), ":2%s", other);
                bad("blkparse", content, EBADMSG, message);
        }

        bad("blkparse", EVENT "0 8 [x]\n", EBADMSG, ":1: behind \"Q R\" comes no \"SECTOR + SECTORS\"");
        bad("blkparse", EVENT "0 +\n", EBADMSG, ":1: behind \"Q R\" comes no \"SECTOR + SECTORS\"");
        bad("blkparse", EVENT "x + 8 [x]\n", EBADMSG, ":1: behind \"Q R\" comes no \"SECTOR + SECTORS\"");
        bad("blkparse", EVENT "0 + -8 [x]\n", EBADMSG, ":1: behind \"Q R\" comes no \"SECTOR + SECTORS\"");
}

static void test_sizes(void **state) {
        bad("blkparse", EVENT "99999999999999999 + 8 [x]\n", EBADMSG,
            ":1: sector 99999999999999999 + 8 is beyond 2^64 bytes");
        bad("blkparse", EVENT "36028797018963967 + 8 [x]\n", EBADMSG,
            ":1: offset 18446744073709551104 and length 4096 together are more than 64 bits");
        bad("blkparse", EVENT "36028797018963960 + 7 [x]\n", EBADMSG,
            ":1: page 4503599627370495 is too far into the file; no file has more than 2^40 pages");
        bad("blkparse", EVENT "0 + 8388609 [x]\n", EBADMSG,
            ":1: one access of 1048577 pages; at most 1048576 (4 GiB) make sense");

        bad("blkparse", EVENT "0 + 0 [x]\n", ENODATA,
            ": no event of the trace is a read or write with the action Q; "
            "blkparse:action= chooses another");
        bad("blkparse:action=D", EVENT "0 + 8 [x]\n", ENODATA,
            ": no event of the trace is a read or write with the "
            "action D; blkparse:action= chooses another");
        bad("blkparse", "\n", ENODATA, ": there is no request in the trace");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_malformed),
                cmocka_unit_test(test_sizes),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
