// SPDX-License-Identifier: LGPL-2.1-or-later
// Light or dark: what was chosen in Cockpit's menu, else what the browser prefers, which the style sheet follows.

function apply(style) {
    if (style === "light" || style === "dark")
        document.documentElement.dataset.theme = style;
    else
        delete document.documentElement.dataset.theme;
}

export function followTheme() {
    const chosen = () => window.localStorage.getItem("shell:style");

    // The shell tells the page that is shown, and storage tells all others.
    window.addEventListener("cockpit-style", event => apply(event.detail?.style ?? chosen()));
    window.addEventListener("storage", event => {
        if (event.key === "shell:style")
            apply(chosen());
    });
    apply(chosen());
}
