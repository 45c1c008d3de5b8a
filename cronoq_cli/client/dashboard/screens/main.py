"""The main screen: the panels in their places, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from textual import events
from textual.screen import Screen
from textual.timer import Timer

from cronoq_cli.client.dashboard import actions
from cronoq_cli.client.dashboard.actions import Proposal
from cronoq_cli.client.dashboard.board import PARTS, SPANS_S, Board, Document, Pane, Panel
from cronoq_cli.client.dashboard.controller import Controller
from cronoq_cli.client.dashboard.keys import find_key
from cronoq_cli.client.dashboard.layout import decide_layout
from cronoq_cli.client.dashboard.panels import chart, footer, pane, pools, recurring, tasks, title
from cronoq_cli.client.dashboard.panels.view import Drawn, PanelView
from cronoq_cli.client.dashboard.screens.choose import ChooseScreen
from cronoq_cli.client.dashboard.screens.confirm import ConfirmScreen
from cronoq_cli.client.dashboard.screens.help import HelpScreen
from cronoq_cli.client.dashboard.screens.prompt import PromptScreen
from cronoq_cli.commands.render.style import Style
from cronoq_cli.errors import CronoqError

REDRAW_S = 0.1
"""What changed is drawn at most so often; a key is answered at once."""
MESSAGE_S = 8.0
_TYPING_S = 0.25
_PANELS = (Panel.POOLS, Panel.TASKS, Panel.PANE)


class MainScreen(Screen[None]):
    """Everything at a glance."""

    def __init__(self, board: Board, controller: Controller, style: Callable[[int], Style]) -> None:
        """`style` tells how lines of a width are to look now."""
        super().__init__()
        self._board = board
        self._controller = controller
        self._style = style
        self._unicode = style(0).unicode
        self._views: dict[str, PanelView] = {}
        self._drawn_at = 0.0
        self._drawing: Timer | None = None
        self._typing: Timer | None = None
        self._said: tuple[tuple[str, str] | None, float] = (None, 0.0)

    # -- drawing ---------------------------------------------------------------------------------------------------

    def compose(self) -> Iterator[PanelView]:
        """One view a panel."""
        drawers: dict[str, Callable[[int, int, Style], Drawn]] = {
            "title": lambda width, _, style: ([title.draw_title(self._board, width, style)], None),
            "pools": lambda width, height, style: (
                pools.draw_pools(self._board, width, height, style),
                pools.cursor_line(self._board),
            ),
            "chart": lambda width, height, style: (chart.draw_chart(self._board, width, height, style), None),
            "tasks": self._draw_list,
            "pane": lambda width, height, style: (pane.draw_pane(self._board, width, height, style), None),
            "footer": lambda width, _, style: ([footer.draw_footer(self._board, width, style)], None),
        }
        for name, draw in drawers.items():
            view = PanelView(self._styled(draw), colour=self._style(0).colour, name=name)
            self._views[name] = view
            yield view

    def _styled(self, draw: Callable[[int, int, Style], Drawn]) -> Callable[[int, int], Drawn]:
        return lambda width, height: draw(width, height, self._style(width))

    def _draw_list(self, width: int, height: int, style: Style) -> Drawn:
        if self._board.shows_recurring:
            return recurring.draw_recurring(self._board, width, height, style), recurring.cursor_line(self._board)
        return tasks.draw_tasks(self._board, width, height, style), tasks.cursor_line(self._board)

    def on_mount(self) -> None:
        """Begin to tick: times go on without events."""
        self.set_interval(1.0, self.request_redraw)
        self.set_interval(REDRAW_S * 2.5, self._controller.read_log)

    def on_resize(self, event: events.Resize) -> None:
        """Put everything where it belongs on a screen of this size."""
        self.redraw()

    def request_redraw(self) -> None:
        """Draw soon what has changed: at once after a quiet time, else at the end of the tenth of a second."""
        if self._drawing is not None:
            return
        wait_s = self._drawn_at + REDRAW_S - monotonic()
        if wait_s <= 0:
            self.redraw()
        else:
            self._drawing = self.set_timer(wait_s, self.redraw)

    def redraw(self) -> None:
        """Draw what has changed."""
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        self._drawn_at = monotonic()
        self._forget_message()
        board, size = self._board, self.size
        places = decide_layout(size.width, size.height, len(board.pools), zoomed=board.is_zoomed)
        for name, area in places._asdict().items():
            view = self._views.get(name)
            if view is not None:
                view.place(area)
                view.redraw()
        if board.is_missing_rows():
            self._controller.look_again()

    def _forget_message(self) -> None:
        """A message goes after a while."""
        message, since = self._said
        if self._board.message is not message:
            self._said = (self._board.message, self._drawn_at)
        elif message is not None and self._drawn_at - since > MESSAGE_S:
            self._board.message = None

    def say(self, text: str, look: str = "") -> None:
        """Say something in the last line."""
        self._board.message = (text, look)
        self.redraw()

    # -- moving ----------------------------------------------------------------------------------------------------

    def take_key(self, event: events.Key) -> None:
        """Do what the key is for; any key answers the last message."""
        self._board.message = None
        key = find_key(event.key, *event.aliases)
        if key is None:
            self.redraw()
            return
        do = getattr(self, f"do_{key.action}")
        do() if key.argument is None else do(key.argument)

    def take_paste(self, text: str) -> None:
        """Text that was pasted is no key."""

    def do_move(self, rows: int) -> None:
        """Move in the panel that has the keys."""
        board = self._board
        if board.panel is Panel.TASKS:
            board.move(rows)
            self._after_move()
        elif board.panel is Panel.PANE:
            board.pane_rows.move(rows)
            board.pane_at_end = board.pane_rows.cursor >= board.pane_rows.count - 1
        else:
            (board.pool_rows if board.panel is Panel.POOLS else board.schedule_rows).move(rows)
        self.redraw()

    def do_page(self, pages: int) -> None:
        """Move by a page."""
        board = self._board
        heights = {
            Panel.TASKS: board.rows.height,
            Panel.POOLS: board.pool_rows.height,
            Panel.RECURRING: board.schedule_rows.height,
            Panel.PANE: self._views["pane"].size.height - 1,
        }
        self.do_move(pages * max(heights[board.panel] - 1, 1))

    def do_edge(self, where: int) -> None:
        """To the first row or the last one."""
        self.do_move(where * 10**9)

    def do_turn(self, steps: int) -> None:
        """Give the keys to the next panel."""
        if self._board.is_zoomed:
            return
        panels = [
            Panel.RECURRING if panel is Panel.TASKS and self._board.shows_recurring else panel for panel in _PANELS
        ]
        self._give_keys(panels[(panels.index(self._board.panel) + steps) % len(panels)])

    def do_panel(self, name: str) -> None:
        """Give the keys to a panel."""
        panel = Panel(name)
        if panel in (Panel.TASKS, Panel.RECURRING):
            self._board.shows_recurring = panel is Panel.RECURRING
            if self._board.shows_recurring:
                self._controller.look_again()
        if panel is not Panel.PANE:
            self._board.is_zoomed = False
        self._give_keys(panel)

    def _give_keys(self, panel: Panel) -> None:
        self._board.panel = panel
        self.redraw()

    def _after_move(self) -> None:
        self._controller.choose_selected()

    # -- looking ---------------------------------------------------------------------------------------------------

    def do_pane(self, name: str) -> None:
        """Show something else of the selected task."""
        board, wanted = self._board, Pane(name)
        if wanted is Pane.LOG and board.pane is Pane.LOG:
            self._controller.show_log_of(stderr=not board.wants_stderr)
        board.pane = wanted
        board.pane_rows.go(0)
        board.pane_at_end = True
        self._controller.look_closer()
        self.redraw()

    def do_zoom(self) -> None:
        """The lower part over everything, or back."""
        board = self._board
        board.is_zoomed = not board.is_zoomed
        board.panel = Panel.PANE if board.is_zoomed else self._list_panel()
        self.redraw()

    def _list_panel(self) -> Panel:
        return Panel.RECURRING if self._board.shows_recurring else Panel.TASKS

    def do_reset(self) -> None:
        """One step back to how it began."""
        board = self._board
        if board.is_zoomed:
            self.do_zoom()
        elif board.marked:
            board.marked.clear()
        elif board.shows_recurring:
            self.do_panel(Panel.TASKS.value)
        elif board.view.text or board.view.part != "all" or board.view.pool is not None:
            self._choose_view(text="", part="all", pool=None)
        else:
            board.panel = self._list_panel()
        self.redraw()

    def do_span(self) -> None:
        """Another stretch of time in the chart."""
        self._board.span = (self._board.span + 1) % len(SPANS_S)
        self.redraw()

    def do_search(self) -> None:
        """Ask for a text; the list follows what is typed."""
        before = self._board.view.text

        def typed(text: str) -> None:
            if self._typing is not None:
                self._typing.stop()
            self._typing = self.set_timer(_TYPING_S, lambda: self._search(text))

        def done(text: str | None) -> None:
            if self._typing is not None:
                self._typing.stop()
            self._search(before if text is None else text)

        self.app.push_screen(PromptScreen("search: ", before, "", on_change=typed), done)

    def _search(self, text: str) -> None:
        text = text.strip()
        if text != self._board.view.text:
            self._choose_view(text=text)

    def _choose_view(self, **changes: str | None) -> None:
        self._board.shows_recurring = False
        self._board.panel = Panel.TASKS
        self._board.choose_view(**changes)
        self._controller.look_again()
        self.redraw()

    def do_filter_status(self) -> None:
        """Ask which part of the queue."""

        def done(part: str | None) -> None:
            if part is not None:
                self._choose_view(part=part)

        self.app.push_screen(self._choose("Show which tasks?", list(PARTS), self._board.view.part), done)

    def do_filter_pool(self) -> None:
        """Ask which pool."""
        every = "(all pools)"

        def done(name: str | None) -> None:
            if name is not None:
                self._choose_view(pool=None if name == every else name)

        names = [every, *(pool["name"] for pool in self._board.pools)]
        self.app.push_screen(self._choose("Show tasks of which pool?", names, self._board.view.pool or every), done)

    def _choose(self, question: str, options: list[str], present: str) -> ChooseScreen:
        return ChooseScreen(question, options, present, unicode=self._unicode)

    # -- changing --------------------------------------------------------------------------------------------------

    def do_mark(self) -> None:
        """Mark the task under the cursor and go on."""
        if self._board.panel is Panel.TASKS:
            self._board.toggle_mark()
            self.do_move(1)

    def do_change(self, what: str) -> None:
        """Ask, then do it to the tasks."""
        proposers: dict[str, Callable[[], Proposal]] = {
            "cancel": lambda: actions.propose_cancel(self._board.targets()),
            "retry": lambda: actions.propose_retry(self._board.targets()),
            "hold": lambda: actions.propose_hold(self._board.targets()),
            "start": lambda: actions.propose_start_now(self._board.targets()),
            "raise": lambda: actions.propose_priority(self._board.targets(), 1),
            "lower": lambda: actions.propose_priority(self._board.targets(), -1),
        }
        if not self._board.shows_recurring:
            self._propose(proposers[what])
        elif what == "retry":
            self._change_schedule(actions.propose_schedule_run)
        else:
            self.say("this is for tasks: 2 goes to them", "yellow")

    def _change_schedule(self, propose: Callable[[Document], Proposal]) -> None:
        schedule = self._board.chosen_schedule
        if schedule is not None:
            self._propose(lambda: propose(schedule))

    def do_pause(self) -> None:
        """Ask, then pause the pool, or the recurring job, or resume it."""
        if self._board.panel is Panel.RECURRING:
            self._change_schedule(actions.propose_schedule_pause)
            return
        pool = self._board.chosen_pool
        if pool is not None:
            self._propose(lambda: actions.propose_pause(pool))

    def do_scale(self) -> None:
        """Ask for a number of workers, then whether that is meant."""
        pool = self._board.chosen_pool
        if pool is None or self._is_refused():
            return
        now = f"{pool['workers']}" if pool["min"] == pool["max"] else f"{pool['min']}..{pool['max']}"

        def done(text: str | None) -> None:
            if text is not None and text.strip():
                # Only when the line is gone: a box pushed before that would be taken away in its place.
                self.call_later(self._propose, lambda: actions.propose_scale(pool, text))

        hint = f"now {now}, {pool['busy']} busy; 4, or 1..8 to scale itself"
        self.app.push_screen(PromptScreen(f"workers of {pool['name']}: ", "", hint), done)

    def _is_refused(self) -> bool:
        if self._board.read_only:
            self.say("read-only: nothing is changed from here", "yellow")
        return self._board.read_only

    def _propose(self, propose: Callable[[], Proposal]) -> None:
        if self._is_refused():
            return
        try:
            proposal = propose()
        except CronoqError as error:
            self.say(error.line(), "yellow")
            return

        def done(agreed: bool | None) -> None:
            if agreed:
                self.run_worker(self._controller.carry_out(proposal))

        self.app.push_screen(ConfirmScreen(proposal, unicode=self._unicode), done)

    # -- otherwise -------------------------------------------------------------------------------------------------

    def do_help(self) -> None:
        """All keys."""
        self.app.push_screen(HelpScreen(read_only=self._board.read_only, unicode=self._unicode))

    def do_repaint(self) -> None:
        """Draw everything anew, whatever another program has written over it."""
        self.refresh(layout=True, repaint=True)

    def do_suspend(self) -> None:
        """To the shell, as Ctrl-Z does elsewhere."""
        self.app.action_suspend_process()

    def do_leave(self) -> None:
        """End the dashboard; nothing else ends."""
        self.app.exit(0)
