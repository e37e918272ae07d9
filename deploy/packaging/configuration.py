"""Prints the configuration that packages install: every key with its default, as
`gapless genconfig` has it, with the file of the log where a service keeps it.

    configuration.py PROGRAM
"""

import re
import subprocess
import sys

#: What differs from the defaults of a program that is started by hand.
CHANGED = {"cache.path": '"/var/lib/gapless/gapless.db"'}


def main(program):
    text = subprocess.run([program, "genconfig"], check=True, capture_output=True, text=True).stdout
    for key, value in CHANGED.items():
        section, name = key.split(".")
        pattern = re.compile(
            rf"(^  {section}: {{\n(?:.*\n)*?    (?:// )?{name}: )[^\n]*?(,?)$", re.MULTILINE)
        text, count = pattern.subn(rf"\g<1>{value}\g<2>", text, count=1)
        if count != 1:
            sys.exit(f"configuration: gapless genconfig has no {key}")
    sys.stdout.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
