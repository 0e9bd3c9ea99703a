/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>

#include "client.h"
#include "model.h"
#include "shared/cleanup.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "unit-policy.h"

char *unit_chosen_policy(const char *unit) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        UnitInfo u;

        assert(unit);

        if (client_connect_quiet(&link) < 0 ||
            sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_STRING("unit", unit)) < 0 ||
            client_call(link, CACHEBPF_VARLINK_INTERFACE ".ListUnits", parameters, &reply) < 0 ||
            unit_info_parse(sd_json_variant_by_key(reply, "unit"), &u) < 0 ||
            !json_string(u.choice, "chosen"))
                return NULL;
        return unit_info_policy(&u);
}
