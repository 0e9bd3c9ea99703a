// SPDX-License-Identifier: LGPL-2.1-or-later
// What cachebpfd tells on the bus, see org.cachebpf1(5): asked for once, then kept up to date by its signals.

const NAME = "org.cachebpf1";
const PATH = "/org/cachebpf1";
const MANAGER = "org.cachebpf1.Manager";
const UNIT = "org.cachebpf1.Unit";
const PROPERTIES = "org.freedesktop.DBus.Properties";
const OBJECTS = "org.freedesktop.DBus.ObjectManager";

/** {name: {t, v}} without the types. */
function plain(properties) {
    return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, value.v]));
}

export class Daemon extends EventTarget {
    #client = null;
    #load = 0; // the number of the last one: an older one is not waited for any more

    #heard = null; // signals since it was asked, while there is no answer

    /** All of the manager's properties; null while the daemon does not answer. */
    manager = null;
    /** Object path -> all properties of the unit. */
    units = new Map();

    /** Events: "manager"; "units" (all of them are new); "unit", with path, before and after in its detail, null for
        one that was not there, or is not any more; "lost", with the reason. */
    #tell(type, detail) {
        this.dispatchEvent(new CustomEvent(type, { detail }));
    }

    /** The daemon is started by this, if it does not run. */
    connect() {
        this.#client?.close();
        const client = cockpit.dbus(NAME, { bus: "system", superuser: "try" });
        this.#client = client;

        client.addEventListener("owner", (_event, owner) => {
            if (client === this.#client && owner === null)
                this.#lose("cachebpfd does not run.");
            else if (client === this.#client && !this.manager)
                this.#ask();
        });
        client.addEventListener("close", (_event, options) => {
            if (client !== this.#client)
                return;
            this.#client = null;
            this.#lose(options?.problem === "not-found" ? "cachebpfd cannot be started."
                : options?.message || cockpit.message(options));
        });
        // Before it is asked, so that nothing is missed: that comes when the owner of the name is known.
        client.subscribe({ path_namespace: PATH }, (path, iface, signal, args) => {
            if (client === this.#client)
                this.#hear(path, iface, signal, args);
        });
    }

    close() {
        const client = this.#client;
        this.#client = null;
        client?.close();
    }

    #lose(reason) {
        this.#load++;
        this.#heard = null;
        this.manager = null;
        this.units.clear();
        this.#tell("units");
        this.#tell("lost", reason);
    }

    #call(path, iface, method, type, ...args) {
        if (!this.#client)
            return Promise.reject(new Error("cachebpfd does not run."));
        return this.#client.call(path, iface, method, args, { type });
    }

    async #ask() {
        const load = ++this.#load;
        this.#heard = [];
        try {
            const [[objects], [manager]] = await Promise.all([
                this.#call(PATH, OBJECTS, "GetManagedObjects", ""),
                this.#call(PATH, PROPERTIES, "GetAll", "s", MANAGER),
            ]);
            if (load !== this.#load)
                return;

            this.manager = plain(manager);
            this.units = new Map(Object.entries(objects).filter(([, interfaces]) => interfaces[UNIT])
                .map(([path, interfaces]) => [path, plain(interfaces[UNIT])]));
            this.#tell("manager");
            this.#tell("units");

            // An answer may be older than a signal. One that is newer has what the signal says, or a later signal does.
            const heard = this.#heard;
            this.#heard = null;
            for (const signal of heard)
                this.#hear(...signal);
        } catch (error) {
            if (load === this.#load && this.#client)
                this.#lose(error.message);
        }
    }

    // ---- signals

    #hear(path, iface, signal, args) {
        if (this.#heard) {
            this.#heard.push([path, iface, signal, args]);
            return;
        }
        if (!this.manager)
            return; // nobody asked yet: the answers will have it
        if (iface === PROPERTIES && signal === "PropertiesChanged" && args[0] === MANAGER)
            this.#managerChanged(args[1], args[2]);
        else if (iface === PROPERTIES && signal === "PropertiesChanged" && args[0] === UNIT && this.units.has(path))
            this.#replace(path, { ...this.units.get(path), ...plain(args[1]) });
        else if (iface === OBJECTS && signal === "InterfacesAdded" && args[1][UNIT])
            this.#replace(args[0], plain(args[1][UNIT]));
        else if (iface === OBJECTS && signal === "InterfacesRemoved" && args[1].includes(UNIT))
            this.#replace(args[0], null);
    }

    #replace(path, after) {
        const before = this.units.get(path) ?? null;
        if (after)
            this.units.set(path, after);
        else
            this.units.delete(path);
        if (before || after)
            this.#tell("unit", { path, before, after });
    }

    #managerChanged(changed, invalidated) {
        Object.assign(this.manager, plain(changed));
        this.#tell("manager");
        for (const name of invalidated)
            this.#call(PATH, PROPERTIES, "Get", "ss", MANAGER, name).then(([value]) => {
                if (this.manager)
                    this.manager[name] = value.v;
            }).catch(error => console.warn(`cachebpf: ${name}: ${error.message}`));
    }

    // ---- calls

    /** Counters of a unit: {name: number}, empty without a policy. */
    async stats(path) {
        return (await this.#call(path, UNIT, "GetStats", ""))[0];
    }

    /** Settings are KEY=VALUE. Returns the files that changed, or would. */
    async set(unit, settings, persistent, dryRun) {
        return (await this.#call(PATH, MANAGER, "SetUnitSettings", "sasbb", unit, settings, persistent, dryRun))[0];
    }

    async reset(unit, persistent) {
        return (await this.#call(PATH, MANAGER, "ResetUnit", "sbb", unit, persistent, false))[0];
    }
}
