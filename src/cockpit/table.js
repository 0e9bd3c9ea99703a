// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of units. Rows stay, and only texts that changed are written, so that neither the focus nor who listens to
// the page is disturbed by what happens elsewhere.

function element(name, className, ...children) {
    const result = document.createElement(name);
    if (className)
        result.className = className;
    result.append(...children);
    return result;
}

function write(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

function timeOf(usec) {
    return usec ? new Date(usec / 1000) : null;
}

/** What holds a unit: (cookie, unit, settings, program, reason, process, user, since). */
function describeHold([, , settings, program, reason]) {
    return `held by ${program}: ${settings.join(" ")}${reason ? ` (${reason})` : ""}`;
}

/** What runs, and with CachePolicy=auto which candidate that is. */
function describeEffective(unit) {
    if (!unit.EffectivePolicy)
        return "–";
    const policy = unit.Chosen ? `auto (${unit.Chosen})` : unit.EffectivePolicy;
    return policy + (unit.Adopted ? " (adopted)" : "");
}

function describeRate(rate) {
    return rate === null ? "since it was attached"
        : `${rate.toLocaleString(undefined, { maximumFractionDigits: 0 })} accesses/s`;
}

class Row {
    constructor(actions) {
        const button = (text, action) => {
            const result = element("button", "", text);
            result.type = "button";
            result.addEventListener("click", () => action(this.unit));
            return result;
        };

        this.name = element("th");
        this.name.scope = "row";
        this.configured = element("td");
        this.options = element("span", "more");
        this.configuredName = element("span");
        this.configured.append(this.configuredName, this.options);
        this.effective = element("td");
        this.verified = element("td", "verified");
        this.state = element("span", "state");
        this.reason = element("span", "more");
        this.hold = element("span", "more");
        this.meter = element("meter");
        this.meter.max = 1;
        this.meter.setAttribute("aria-hidden", "true"); // the number says it
        this.ratio = element("span", "ratio");
        this.rate = element("span", "more");
        this.since = element("time");
        this.source = element("td", "source");
        this.change = button("Set", actions.set);
        this.reset = button("Reset", actions.reset);

        this.node = element("tr", "", this.name, this.configured, this.effective, this.verified,
                            element("td", "", this.state, this.reason, this.hold),
                            element("td", "", this.meter, " ", this.ratio, this.rate),
                            element("td", "", this.since), this.source,
                            element("td", "actions", this.change, " ", this.reset));
        this.showRatio(null);
    }

    show(unit) {
        const since = timeOf(unit.SinceTimestamp);
        const details = [...unit.PolicyOptions];
        if (unit.Admission.length > 0)
            details.push(`admission filter: ${unit.Admission.join(" ")}`);
        if (unit.Readahead)
            details.push(`readahead: ${unit.Readahead}`);
        if (unit.ScanThreads.length > 0)
            details.push(`scanning threads: ${unit.ScanThreads.join(" ")}`);

        this.unit = unit;
        write(this.name, unit.Unit);
        write(this.configuredName, unit.ConfiguredPolicy || "–");
        write(this.options, details.join(", "));
        write(this.effective, describeEffective(unit));
        write(this.verified, unit.VerifiedPolicy || "–");
        write(this.state, unit.State);
        write(this.reason, unit.StateReason);
        write(this.hold, unit.Holds.map(describeHold).join("; "));
        write(this.since, since ? since.toLocaleString() : "–");
        if (since)
            this.since.dateTime = since.toISOString();
        write(this.source, unit.Source || "–");
        this.change.setAttribute("aria-label", `Set the policy of ${unit.Unit}`);
        this.reset.setAttribute("aria-label", `Remove what was set for ${unit.Unit}`);
        // The kernel is right: a unit that does not run what was attached is worth a look.
        this.node.className = unit.State + (unit.EffectivePolicy && unit.VerifiedPolicy !== unit.EffectivePolicy
            ? " differs" : "");
    }

    showRatio(value) {
        const known = value?.ratio ?? null;
        this.meter.hidden = known === null;
        if (known !== null)
            this.meter.value = known;
        write(this.ratio, known === null ? "–" : `${(known * 100).toFixed(1)}\u00a0%`);
        write(this.rate, value && (known !== null || value.rate !== null) ? describeRate(value.rate) : "");
    }
}

export class Table {
    #body;
    #actions;
    #rows = new Map();
    #filter = "";
    #observer = new IntersectionObserver(entries => {
        for (const { target, isIntersecting } of entries)
            if (isIntersecting)
                this.seen.add(target.dataset.path);
            else
                this.seen.delete(target.dataset.path);
    });

    /** Paths of the units whose rows are on the screen: of a thousand the others need not be asked for. */
    seen = new Set();

    /** Actions: set(unit), reset(unit). */
    constructor(body, actions) {
        this.#body = body;
        this.#actions = actions;
    }

    /** A unit, or null for one that is gone. */
    update(path, unit) {
        let row = this.#rows.get(path);
        if (!unit) {
            if (row)
                this.#observer.unobserve(row.node);
            row?.node.remove();
            this.#rows.delete(path);
            this.seen.delete(path);
            return;
        }
        if (!row) {
            row = new Row(this.#actions);
            row.node.dataset.path = path;
            this.#rows.set(path, row);
            row.show(unit);
            this.#body.insertBefore(row.node, this.#after(unit.Unit));
            this.#observer.observe(row.node);
        } else
            row.show(unit);
        this.#hide(row);
    }

    replaceAll(units) {
        for (const path of [...this.#rows.keys()])
            if (!units.has(path))
                this.update(path, null);
        for (const [path, unit] of [...units].sort(([, a], [, b]) => a.Unit < b.Unit ? -1 : 1))
            this.update(path, unit);
    }

    updateRatio(path, value) {
        this.#rows.get(path)?.showRatio(value);
    }

    filter(text) {
        this.#filter = text.toLowerCase();
        for (const row of this.#rows.values())
            this.#hide(row);
    }

    #hide(row) {
        row.node.hidden = !row.unit.Unit.toLowerCase().includes(this.#filter);
    }

    #after(name) {
        const last = this.#body.lastElementChild;
        return !last || last.cells[0].textContent <= name ? null
            : [...this.#body.rows].find(row => row.cells[0].textContent > name);
    }
}
