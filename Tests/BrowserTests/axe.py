"""Looks at a page with axe-core: what it offers to people who do not see it, or not well."""

from axe_playwright_python.base import AXE_SCRIPT

#: As a page may be looked at, and which rules are at stake there: all of them, or those of colours.
LOOKS = [
    ({"color_scheme": "light", "forced_colors": "none"}, None),
    ({"color_scheme": "dark", "forced_colors": "none"}, ["color-contrast"]),
    ({"color_scheme": "dark", "forced_colors": "active"}, ["color-contrast"]),
]
RUN = """async (rules) => {
  const { violations } = await axe.run(rules === null ? {} : { runOnly: rules });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, any, all, none }) => (
    `${id}: ${target} (${[...any, ...all, ...none].map(({ message }) => message)})`)));
}"""


def findings(page):
    """What is wrong with a page as it stands, by each way to look at it."""
    page.evaluate(AXE_SCRIPT)
    found = []
    for look, rules in LOOKS:
        page.emulate_media(**look)
        found += [f"{look}: {finding}" for finding in page.evaluate(RUN, rules)]
    page.emulate_media(color_scheme="light", forced_colors="none")
    return found
