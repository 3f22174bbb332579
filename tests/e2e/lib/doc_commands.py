#!/usr/bin/env python3
"""Holds the commands on the pages (README.md, docs) against `pipescope help VERB`: verbs and options. Prints what is unknown."""
import re
import subprocess
import sys

SHELL = ("sh", "bash", "console", "")
PROGRAM = re.compile(r"(?:build/release/)?pipescope$")


def help_of(verb, known={}):  # pylint: disable=dangerous-default-value
    if verb not in known:
        done = subprocess.run(["pipescope", "help", verb], capture_output=True, text=True, check=False)
        known[verb] = done.stdout if done.returncode == 0 else None
    return known[verb]


def code_of(page):
    """(line number, text) of each line of a block of shell, and of each piece of code in a sentence."""
    language = None
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("```"):
                language = line[3:].strip() if language is None else None
            elif language in SHELL:
                yield number, line.strip()
            elif language is None:
                for code in re.findall(r"`([^`]*)`", line):
                    yield number, code


def faults_of_command(words):
    if words[1:] in (["--version"], ["--help"]):  # of the program
        return
    verb, rest = ("cluster", words[1:]) if words[1].startswith("-") else (words[1], words[2:])
    if not re.match(r"[a-z]+$", verb):  # COMMAND, PATH: a word for any
        return
    text = help_of(verb)
    if text is None:
        yield "no command %s" % verb
        return
    for word in rest[:rest.index("--")] if "--" in rest else rest:
        option = word.strip("[](),'\"").split("=")[0]
        dashed = re.sub(r"(?<!-)-(?!-)|_", "[-_]", option.lstrip("-"))
        if re.match(r"--?[A-Za-z]", option) and option != "--option" and not re.search(r"(?<![\w-])--?%s(?![\w-])" % dashed, text):
            yield "%s has no option %s" % (verb, option)


def main():
    pages = subprocess.run(["git", "ls-files", "README.md", "docs/*.md"], capture_output=True, text=True, check=True).stdout.split()
    faults = []
    for page in pages:
        for number, code in code_of(page):
            for command in re.split(r"[;&|]+", code.split(" #")[0]):
                words = command.lstrip("$ ").split()
                if len(words) > 1 and PROGRAM.match(words[0]):
                    faults += ["%s:%d: %s" % (page, number, fault) for fault in faults_of_command(words)]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
