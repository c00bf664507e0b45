"""What guard takes for dangerous.

It looks at words, not at what a shell would make of them. That catches mistakes, which is what it is
for; whoever wants around it gets around it.
"""

import re

SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish"}
DOWNLOADERS = {"curl", "wget"}
BECOMING_ROOT = {"sudo", "doas", "su"}
# Programs that start the one named behind them.
WRAPPERS = {"env", "command", "exec", "nohup", "time", "xargs", "then", "do", "else", "!"}
HARMLESS_DEVICES = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/full"}

ROOT = re.compile(r"(?:/|~|\$\{?HOME\}?)/*\*?/*")
ASSIGNMENT = re.compile(r"\w+=")
OPEN_TO_ALL = re.compile(r"0?777|[ugoa]*[+=]rwx")
DISK = re.compile(r">\s*[\"']?/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|loop)")
SHELL_OF_DOWNLOAD = re.compile(r"\b(?:ba|da|z|k)?sh\b[^\n]{0,20}[<$]\(\s*(?:curl|wget)\b")
FORK_BOMB = re.compile(r"([\w:]{1,32})\(\)\{\1\|\1&")


def danger(text):
    """What is dangerous about a shell command; nothing if nothing was found."""
    if FORK_BOMB.search(re.sub(r"\s", "", text)):
        return "a fork bomb"
    if DISK.search(text):
        return "writing to a disk"
    if SHELL_OF_DOWNLOAD.search(text):
        return "running what was downloaded"
    text = re.sub(r"\d*[<>]&\d*|&>", " ", text)
    for pipeline in re.split(r"[;&\n(){}`]|\|\|", text):
        downloads = False
        for command in pipeline.split("|"):
            words = [word.strip("\"'") for word in command.split()]
            found = danger_of(words)
            if found:
                return found
            name = program(words)[0]
            if downloads and name in SHELLS:
                return "running what was downloaded"
            downloads = downloads or name in DOWNLOADERS
    return None


def program(words):
    """The name of the program that `words` start, without its directory, and its arguments."""
    for at, word in enumerate(words):
        if word not in WRAPPERS and not ASSIGNMENT.match(word):
            return word.rsplit("/", 1)[-1], words[at + 1:]
    return "", []


def danger_of(words):
    name, arguments = program(words)
    if name in BECOMING_ROOT:
        return f"an attempt to become root ({name})"
    if name.split(".")[0] == "mkfs":
        return "making a file system"
    if name == "rm" and has_flag(arguments, "rR", "--recursive") and any(map(ROOT.fullmatch, arguments)):
        return "deleting everything"
    if name == "rm" and "--no-preserve-root" in arguments:
        return "deleting everything"
    if name == "chmod" and has_flag(arguments, "R", "--recursive") and any(map(OPEN_TO_ALL.fullmatch, arguments)):
        return "opening files to everybody"
    if name == "dd":
        targets = [argument[3:] for argument in arguments if argument.startswith("of=")]
        if any(target.startswith("/dev/") and target not in HARMLESS_DEVICES for target in targets):
            return "writing to a device"
    if name in SHELLS and "-c" in arguments:
        return danger_of(arguments[arguments.index("-c") + 1:])
    return None


def has_flag(arguments, letters, long):
    short = (argument for argument in arguments if re.match(r"-\w", argument))
    return long in arguments or any(letter in argument for argument in short for letter in letters)
