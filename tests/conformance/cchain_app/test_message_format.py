"""Compares the formatting of messages with placeholders to Node's util.format."""

import json
import subprocess

from cchain_app.transaction_log.console import format_message

NUMBERS = (
    "", " 12 ", "0x1f", "0b101", "0o17", "1e21", "123456789012345680000", "1e-7", "0.000001", "12.50", ".5", "5.",
    "-0", "+7", "Infinity", "-Infinity", "1e400", "1_000", "12abc", "-0x10", "abc", "0x", "9" * 400, "1e", "-.5e1",
    "\u00a07", "123456.789", "100000000000000000000000", "2e-10", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
)  # fmt: skip
MESSAGES: list[list[object]] = [
    [],
    ["plain"],
    ["100%"],
    ["%% and %s"],
    ["%% and %s", "x"],
    ["%s", "x", "y"],
    ["%s %s", "x"],
    ["%d items of %s", 3],
    ["%d items of %s", 3, "kind", True, 9],
    ["%q %a%s%", "x"],
    ["%%%s%%", "x"],
    ["%s%s%s", True, False, -5],
    ["%i|%i|%i", -5, True, 7],
    ["%f|%f|%f", 5, False, 0],
    ["%d|%d|%d", True, False, -9],
    ["%j|%j|%j", 'a"b\n', True, 4],
    ["%o|%O|%o", "plain", "it's", 'it\'s "it"'],
    ["%o|%o|%o", "`'\"", "a\nb\t\\\x01", True],
    ["%c%s", "colour", "x"],
    ["%s", ""],
    ["", "x"],
    [3, "%s", "x"],
    [True, 4, "x"],
    ["%s"],
    *(["%d", text] for text in NUMBERS),
    *(["%i", text] for text in NUMBERS),
    *(["%f", text] for text in NUMBERS),
]


def test_messages_are_those_of_node() -> None:
    script = (
        "const {format} = require('util');"
        "let text = ''; process.stdin.on('data', part => text += part).on('end', () =>"
        "console.log(JSON.stringify(JSON.parse(text).map(one => format(...one)))));"
    )
    done = subprocess.run(
        ["node", "-e", script],
        input=json.dumps(MESSAGES),
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = json.loads(done.stdout)

    assert len(wanted) == len(MESSAGES) > 100
    found = [format_message(message) for message in MESSAGES]  # type: ignore[arg-type]
    assert found == wanted
