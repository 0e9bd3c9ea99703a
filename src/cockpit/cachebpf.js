// SPDX-License-Identifier: LGPL-2.1-or-later
// The page: puts together what the daemon tells, the table, and the forms.

import { Daemon } from "./daemon.js";
import { makeDialogs } from "./dialogs.js";
import { Ratios } from "./ratios.js";
import { Table } from "./table.js";
import { followTheme } from "./theme.js";

const CHANGES_MAX = 20; // sentences that are kept for who listens

const $ = id => document.getElementById(id);

const daemon = new Daemon();
const dialogs = makeDialogs(daemon, text => { $("notice").textContent = text; });
const table = new Table($("units"), {
    set: unit => dialogs.set.openFor(unit),
    reset: unit => dialogs.reset.openFor(unit),
});
const ratios = new Ratios(daemon, () => table.seen, (path, value) => table.updateRatio(path, value));

/** Nothing is wrong if there is no text. */
function showProblem(text) {
    $("problem").hidden = !text;
    if ($("problem-text").textContent !== text)
        $("problem-text").textContent = text;
    $("connect").hidden = Boolean(daemon.manager);
    $("set-any").disabled = !daemon.manager;
}

function showManager() {
    const manager = daemon.manager;
    $("summary").textContent = `${manager.UnitsConfigured} units configured, ${manager.UnitsAttached} attached, ` +
        `${manager.UnitsFailed} failed. cachebpfd ${manager.Version}.`;
    showProblem(manager.KernelSupport ? "" : `The kernel cannot attach policies: ${manager.KernelReason}.`);
}

function showNumber() {
    $("empty").hidden = !daemon.manager || daemon.units.size > 0;
}

/** For those who do not see the table: what changed, a sentence each. */
function announce(text) {
    const changes = $("changes");
    const line = document.createElement("span");
    line.textContent = `${text}. `;
    changes.append(line);
    while (changes.childElementCount > CHANGES_MAX)
        changes.firstElementChild.remove();
}

function announceUnit(before, after) {
    if (!after)
        announce(`${before.Unit} has no policy any more`);
    else if (!before || before.State !== after.State || before.VerifiedPolicy !== after.VerifiedPolicy ||
             before.StateReason !== after.StateReason)
        announce(`${after.Unit} is ${after.State}, the kernel's word is ${after.VerifiedPolicy || "none"}` +
            (after.StateReason ? `: ${after.StateReason}` : ""));
}

daemon.addEventListener("manager", showManager);
daemon.addEventListener("units", () => {
    table.replaceAll(daemon.units);
    showNumber();
});
daemon.addEventListener("unit", ({ detail: { path, before, after } }) => {
    table.update(path, after);
    showNumber();
    announceUnit(before, after);
});
daemon.addEventListener("lost", ({ detail: reason }) => {
    $("summary").textContent = "";
    showProblem(`${reason} Attached policies keep running.`);
});

$("connect").addEventListener("click", () => daemon.connect());
$("set-any").addEventListener("click", () => dialogs.set.openFor(null));
$("filter").addEventListener("input", () => table.filter($("filter").value.trim()));

function followVisibility() {
    ratios.run(!cockpit.hidden);
}

cockpit.addEventListener("visibilitychange", followVisibility);
window.addEventListener("pagehide", () => daemon.close());

// With administrative access, or without it any more, calls go another way.
const permission = cockpit.permission({ admin: true });
let admin = null;
permission.addEventListener("changed", () => {
    if (admin !== null && admin !== permission.allowed)
        daemon.connect();
    admin = permission.allowed;
});

followTheme();
daemon.connect();
followVisibility();
