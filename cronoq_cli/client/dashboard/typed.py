"""A line that is being typed. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Typed:
    """The text, and before which of its characters the next one goes."""

    text: str = ""
    at: int = 0

    def insert(self, text: str) -> None:
        """Put text in."""
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def edit(self, key: str) -> bool:
        """Do what an editing key does; whether it is one."""
        before, behind = self.text[: self.at], self.text[self.at :]
        match key:
            case "left" | "ctrl+b":
                self.at = max(self.at - 1, 0)
            case "right" | "ctrl+f":
                self.at = min(self.at + 1, len(self.text))
            case "home" | "ctrl+a":
                self.at = 0
            case "end" | "ctrl+e":
                self.at = len(self.text)
            case "backspace" | "ctrl+h":
                self._set(before[:-1], behind)
            case "delete" | "ctrl+d":
                self._set(before, behind[1:])
            case "ctrl+u":
                self._set("", behind)
            case "ctrl+k":
                self._set(before, "")
            case "ctrl+w":
                kept = before.rstrip().rpartition(" ")
                self._set(kept[0] + kept[1], behind)
            case _:
                return False
        return True

    def _set(self, before: str, behind: str) -> None:
        self.text, self.at = before + behind, len(before)
