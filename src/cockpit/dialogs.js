// SPDX-License-Identifier: LGPL-2.1-or-later
// The forms that change something. What is wrong with it the daemon says, and its words are shown.

const ADMISSION = [
    ["", "all stays"],
    ["yes", "reads of scanning and background threads"],
    ["scan", "reads of scanning threads"],
    ["background", "reads of background threads"],
];
const READAHEAD = [
    ["", "as without a policy"],
    ["adaptive", "adaptive: as much as pays"],
    ["off", "nothing"],
    ["32K", "32 KiB at most"],
    ["128K", "128 KiB at most"],
    ["512K", "512 KiB at most"],
    ["2M", "2 MiB at most"],
];
const AUTO = ["auto", "auto: the daemon chooses", "The daemon measures policies and attaches the one that fits best."];
const UNIT_SUFFIX = /\.(service|slice|scope|socket|mount|automount|swap|target|device|timer|path)$/;
const NOT_ALLOWED = [
    "org.freedesktop.DBus.Error.AccessDenied",
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
];

const $ = id => document.getElementById(id);

export function describeError(error) {
    const text = error.message || error.problem || String(error);
    const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
    return NOT_ALLOWED.includes(error.name) ? `${sentence} Administrative access of Cockpit is needed.` : sentence;
}

/** The fields show what is in force, and so what a hold sets. */
function describeHoldHere([, , settings, program]) {
    return `${program} holds this unit: ${settings.join(" ")}. The fields show that. ` +
        "The hold is stronger than what you set here, until it ends.";
}

function option(value, text, disabled = false) {
    const result = new Option(text, value);
    result.disabled = disabled;
    return result;
}

/** What the forms have in common: one call at a time, whose error is shown. */
class Form {
    constructor(name, daemon, done) {
        this.name = name;
        this.daemon = daemon;
        this.done = done;
        this.dialog = $(name);
        this.error = $(`${name}-error`);
        this.opened = 0; // how often
        this.busy = 0;   // the opening whose call is under way
        this.dialog.querySelector("form").addEventListener("submit", event => {
            event.preventDefault();
            this.submit();
        });
        $(`${name}-cancel`).addEventListener("click", () => this.dialog.close());
    }

    open() {
        this.opened++;
        this.error.textContent = "";
        this.dialog.querySelector(`input[name="${this.name}-persistent"]`).checked = true;
        this.dialog.showModal();
    }

    get persistent() {
        return this.dialog.querySelector(`input[name="${this.name}-persistent"]:checked`).value === "yes";
    }

    /** Returns null if the call failed; the daemon's word is shown then. One that was closed meanwhile, or opened for
        another unit, has nothing to do with that any more. */
    async attempt(call) {
        if (this.busy === this.opened)
            return null;
        const opened = this.opened;
        this.busy = opened;
        this.error.textContent = "";
        try {
            return await call();
        } catch (error) {
            if (opened === this.opened)
                this.error.textContent = describeError(error);
            return null;
        } finally {
            if (this.busy === opened)
                this.busy = 0;
        }
    }

    /** Submits what was entered: calls, and closes the form. */
    async carryOut(call, describe) {
        const opened = this.opened;
        const files = await this.attempt(call);
        if (!files)
            return;
        if (opened === this.opened)
            this.dialog.close();
        this.done(describe(files));
    }
}

class SetForm extends Form {
    constructor(daemon, done) {
        super("set", daemon, done);
        this.result = $("set-result");
        $("set-policy").addEventListener("change", () => this.#describe());
        $("set-check").addEventListener("click", () => this.#check());
        this.checked = 0; // the number of the last check: answers to others are not about what is in the form
        this.dialog.addEventListener("input", () => this.#forgetCheck());
    }

    /** For a unit of the table, or for any (null). */
    openFor(unit) {
        $("set-unit").value = unit?.Unit ?? "";
        $("set-unit").readOnly = unit !== null;
        this.#fillPolicies(unit?.ConfiguredPolicy ?? "");
        $("set-options").value = unit?.PolicyOptions.join(" ") ?? "";
        $("set-scan").value = unit?.ScanThreads.join(" ") ?? "";
        const admission = unit?.Admission.join(" ") ?? "", readahead = unit?.Readahead ?? "";
        this.#choose("set-admission", ADMISSION, admission === "no" ? "" : admission);
        this.#choose("set-readahead", READAHEAD, readahead === "stock" ? "" : readahead);
        // Without a unit the form does not know the policy: the one that is shown is sent.
        this.before = unit ? this.#fields() : { ...this.#fields(), CachePolicy: null };
        $("set-hold").textContent = unit?.Holds.map(describeHoldHere).join(" ") ?? "";
        this.#forgetCheck();
        this.open();
        $(unit ? "set-policy" : "set-unit").focus();
    }

    #fillPolicies(chosen) {
        const policies = [...this.daemon.manager?.Policies ?? []].sort((a, b) => a[0] < b[0] ? -1 : 1);
        const select = $("set-policy");
        select.replaceChildren(
            option("", "stock policy"),
            option(AUTO[0], AUTO[1]), // no object file, so it is not among the policies
            ...policies.map(([name, , , problem]) => option(name, problem ? `${name}: ${problem}` : name,
                                                            Boolean(problem))));
        if (![...select.options].some(({ value }) => value === chosen))
            select.append(option(chosen, `${chosen}: there is no such policy`));
        select.value = chosen;
        this.#describe();
    }

    #describe() {
        const name = $("set-policy").value;
        const policy = this.daemon.manager?.Policies.find(([other]) => other === name);
        $("set-description").textContent = (name === AUTO[0] ? AUTO[2] : policy?.[1]) ?? "";
    }

    #choose(id, choices, value) {
        const select = $(id);
        select.replaceChildren(...choices.map(([key, text]) => option(key, text)));
        if (!choices.some(([key]) => key === value))
            select.append(option(value, value));
        select.value = value;
    }

    #fields() {
        return {
            CachePolicy: $("set-policy").value,
            CachePolicyOptions: $("set-options").value.trim(),
            CacheScanThreads: $("set-scan").value.trim(),
            CacheAdmission: $("set-admission").value,
            CacheReadahead: $("set-readahead").value,
        };
    }

    /** Only what differs from what the form was filled with: the rest may come from a hold or a file, or somebody else
        changed it meanwhile. A new policy drops the options, so those that are shown go with it. */
    #settings() {
        const fields = this.#fields();
        const newPolicy = fields.CachePolicy !== this.before.CachePolicy;
        return Object.entries(fields)
            .filter(([key, value]) => value !== this.before[key] ||
                    (key === "CachePolicyOptions" && newPolicy && value))
            .map(([key, value]) => `${key}=${value}`);
    }

    #unit() {
        const name = $("set-unit").value.trim();
        return name && !UNIT_SUFFIX.test(name) ? `${name}.service` : name; // as systemctl has it
    }

    #forgetCheck() {
        this.checked++;
        this.result.textContent = "";
    }

    async #send(settings, dryRun) {
        if (settings.length === 0)
            throw new Error("No field was changed. Change at least one.");
        return this.daemon.set(this.#unit(), settings, this.persistent, dryRun);
    }

    /** Does not keep anybody from setting meanwhile, so it is no attempt(). */
    async #check() {
        if (this.busy === this.opened)
            return;
        this.#forgetCheck();
        this.error.textContent = "";
        const number = this.checked;
        let result = "", error = "";
        try {
            const files = await this.#send(this.#settings(), true);
            result = files.length > 0 ? `Nothing is wrong. This would be written: ${files.join(", ")}`
                : "Nothing is wrong. Nothing would change.";
        } catch (e) {
            error = describeError(e);
        }
        if (number !== this.checked)
            return;
        this.result.textContent = result;
        this.error.textContent = error;
    }

    async submit() {
        const unit = this.#unit();
        const settings = this.#settings();
        const howLong = this.persistent ? "persistently" : "until the next boot";
        this.#forgetCheck();
        await this.carryOut(() => this.#send(settings, false),
                            () => `${unit}: ${settings.join(", ")} was set ${howLong}.`);
    }
}

class ResetForm extends Form {
    constructor(daemon, done) {
        super("reset", daemon, done);
    }

    openFor(unit) {
        this.unit = unit.Unit;
        $("reset-title").textContent = `Remove what was set for ${unit.Unit}`;
        this.open();
    }

    async submit() {
        const unit = this.unit;
        await this.carryOut(() => this.daemon.reset(unit, this.persistent), files =>
            files.length > 0 ? `${unit}: what was set was removed.` : `${unit}: nothing was set.`);
    }
}

/** Calls done(sentence) when something was changed. */
export function makeDialogs(daemon, done) {
    return { set: new SetForm(daemon, done), reset: new ResetForm(daemon, done) };
}
