#!/usr/bin/env python3
"""Seeds of fuzz targets that are made, not kept: seeds.py FOLDER fills FOLDER/<target>/.

The counts stand in the target's source; more than there are only repeat.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def entries(source, name):
    body = re.search(r"%s\[\] = \{\n(.*?)\n\};" % name, source, re.S).group(1)
    return len(re.findall(r"^    [{\"]", body, re.M))


def commands(folder):
    """Every part of a capture and every command, a third of the pairs, every other one with an edit."""
    with open(os.path.join(HERE, "fuzz_commands.c"), encoding="utf-8") as file:
        source = file.read()
    n_parts = entries(source, "PARTS")
    for command in range(entries(source, "COMMANDS")):
        for part in range(command % 3, n_parts, 3):
            edits = bytes([97 + part, 31 * command % 256, part % 6, 5 * part % 256]) if (command + part) % 2 else b""
            with open(os.path.join(folder, "%02d-%02d" % (command, part)), "wb") as file:
                file.write(bytes([command, part]) + edits)


def recover(folder):
    """The folder as it was left, without one of its files, and with a byte changed in each part of each file."""
    for how in range(64):
        with open(os.path.join(folder, "whole-%02d" % how), "wb") as file:
            file.write(bytes([how]))
    for number in range(48):
        with open(os.path.join(folder, "edited-%02d" % number), "wb") as file:
            file.write(bytes([8, number % 3, 16 * number % 256, 0, 0x40 | number % 32, 255]))


def tables(folder):
    """Bytes without a pattern: a recipe takes any."""
    state = 1
    for number in range(32):
        content = bytearray()
        for _ in range(100 + 40 * number):
            state = (state * 1103515245 + 12345) % 2**31
            content.append(state >> 16 & 0xFF)
        with open(os.path.join(folder, "recipe-%02d" % number), "wb") as file:
            file.write(content)


def main():
    for name, make in (("commands", commands), ("recover", recover), ("tables", tables)):
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        make(folder)


if __name__ == "__main__":
    main()
