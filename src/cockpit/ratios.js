// SPDX-License-Identifier: LGPL-2.1-or-later
// Hits, misses and the ratio of hits since the last look, as "cachectl top" has them; at the first look, since the
// policy was attached.

const INTERVAL = 1000;

/** Whether the counters go on from the earlier ones: of another policy, or one attached anew, they begin at zero. */
function continues(before, now) {
    return before && before.id === now.id && now.hits >= before.hits && now.misses >= before.misses;
}

export function compare(before, now) {
    const on = continues(before, now) && now.at > before.at;
    const hits = on ? now.hits - before.hits : now.hits;
    const misses = on ? now.misses - before.misses : now.misses;
    return {
        ratio: hits + misses > 0 ? hits / (hits + misses) : null,
        rate: on ? (hits + misses) * 1000 / (now.at - before.at) : null,
    };
}

export class Ratios {
    #daemon;
    #seen;
    #show;
    #samples = new Map();
    #timer = null;
    #looking = false;

    /** Asks for the units whose paths seen() returns, and calls show(path, {ratio, rate}), or with null for a unit that
        has no counters. */
    constructor(daemon, seen, show) {
        this.#daemon = daemon;
        this.#seen = seen;
        this.#show = show;
    }

    /** Nobody looks at a page that is not shown. */
    run(shown) {
        if (shown === (this.#timer !== null))
            return;
        if (shown) {
            this.#timer = window.setInterval(() => this.#look(), INTERVAL);
            this.#look();
        } else {
            window.clearInterval(this.#timer);
            this.#timer = null;
            this.#samples.clear();
        }
    }

    /** A daemon that is slower than a second is not asked more often than it answers. */
    async #look() {
        if (this.#looking)
            return;
        this.#looking = true;
        await Promise.all([...this.#seen()].map(path => this.#lookAt(path, this.#daemon.units.get(path))));
        this.#looking = false;
    }

    async #lookAt(path, unit) {
        if (!unit?.EffectivePolicy) {
            this.forget(path);
            return;
        }
        try {
            const counters = await this.#daemon.stats(path);
            if (this.#daemon.units.get(path)?.PolicyId !== unit.PolicyId)
                return; // by now there is another one
            if (counters.hits === undefined) {
                this.forget(path);
                return;
            }
            const now = { id: unit.PolicyId, hits: counters.hits, misses: counters.misses ?? 0, at: performance.now() };
            const before = this.#samples.get(path);
            this.#samples.set(path, now);
            this.#show(path, compare(before, now));
        } catch {
            this.forget(path); // it is gone, as a signal tells, or the daemon is
        }
    }

    forget(path) {
        this.#samples.delete(path);
        this.#show(path, null);
    }
}
