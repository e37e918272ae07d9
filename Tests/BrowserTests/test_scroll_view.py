"""The scroll view by itself: rows of its own, nothing of a chat."""

import pathlib
import unittest

from browser import BrowserTestCase

COUNT = 100_000
#: A view of rows whose heights nobody can guess, on the empty page of a gateway.
SETUP = pathlib.Path(__file__).with_name("scroll-view-page.js").read_text()


class ScrollViewTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.page = self.open("alice").page
        self.page.evaluate(SETUP, COUNT)

    def run_in_page(self, script):
        """The value of a script that sees `t`, what `scroll-view-page.js` made."""
        return self.page.evaluate(f"async () => {{ const t = window.scrollTest; {script} }}")

    def test_only_the_rows_in_view_and_some_beyond_are_in_the_document(self):
        most = self.run_in_page("""
          let most = 0;
          for (let at = 0; at < 200; at += 1) {
            t.element.scrollTop = t.element.scrollHeight * ((at * 37) % 200) / 200;
            await t.frame();
            most = Math.max(most, t.rows().length);
            const { first, last } = t.view.visible;
            for (let row = first; row <= last; row += 1) {
              if (!t.row(row)) throw new Error(`row ${row} is not drawn`);
            }
            if (t.covered() < t.element.clientHeight - 1) throw new Error('not covered');
          }
          return most;""")
        self.assertLess(most, 150)

    def test_an_item_is_brought_to_an_edge_in_one_frame(self):
        for index in (0, 17, 50_000, COUNT - 1, 3):
            for edge in ("top", "center", "bottom"):
                with self.subTest(index=index, edge=edge):
                    away = self.run_in_page(f"""
                      t.view.scrollToItem('{index}', '{edge}');
                      return t.distance({index}, '{edge}');""")
                    # At the two ends of the list there is nothing to scroll to beyond.
                    if 10 < index < COUNT - 10:
                        self.assertLessEqual(abs(away), 1)
                    self.assertTrue(self.run_in_page(f"return t.isInView({index});"))
        self.assertFalse(self.run_in_page("return t.view.scrollToItem('nobody');"))

    def test_scrolling_animated_gets_there_by_steps_and_loads_nothing_of_it_twice(self):
        steps = self.run_in_page("""
          t.view.scrollToItem('1000');
          let steps = 0;
          const stop = t.view.laidOut.listen(() => { steps += t.view.isScrolling ? 1 : 0; });
          const done = await t.view.scrollToItemAnimated('1100', 'top', { longest: 300 });
          stop();
          const { isScrolling } = t.view;
          return { steps, done, away: t.distance(1100, 'top'), isScrolling };""")
        self.assertTrue(steps["done"])
        self.assertGreater(steps["steps"], 2)
        self.assertLessEqual(abs(steps["away"]), 1)
        self.assertFalse(steps["isScrolling"])

    def test_a_person_ends_the_scrolling_of_a_program(self):
        ended = self.run_in_page("""
          t.view.scrollToItem('1000');
          const scrolling = t.view.scrollToItemAnimated('90000', 'top', { longest: 60000 });
          await t.frame();
          t.element.dispatchEvent(new WheelEvent('wheel'));
          return [await scrolling, t.view.isScrolling, t.isInView(90000)];""")
        self.assertEqual([False, False, False], ended)

    def test_rows_stay_where_they_are_whatever_happens_elsewhere(self):
        changes = {
            "inserted above": "items.splice(100, 0, ...t.make(500, 'new'));",
            "taken out above": "items.splice(100, 500);",
            "inserted below": "items.splice(60000, 0, ...t.make(500, 'new'));",
            "grown above, in view": "items[first] = t.grown(items[first], 300);",
            "the first in view taken out": "items.splice(first, 1);",
        }
        for name, change in changes.items():
            with self.subTest(name):
                moved = self.run_in_page(f"""
                  t.reset();
                  t.view.scrollToItem('50000', 'center');
                  const row = t.row(t.view.indexOf('50000'));
                  t.pointAt(row);
                  const before = row.getBoundingClientRect().top;
                  const items = [...t.view.items];
                  const {{ first }} = t.view.visible;
                  {change}
                  t.view.updateItems(items);
                  await t.frame();
                  return row.isConnected ? row.getBoundingClientRect().top - before : null;""")
                self.assertIsNotNone(moved)
                self.assertLessEqual(abs(moved), 1)

    def test_without_a_pointer_a_row_that_is_drawn_anew_moves_none_below_it(self):
        moved = self.run_in_page("""
          t.reset();
          t.element.dispatchEvent(new PointerEvent('pointerleave'));
          t.view.scrollToItem('50000', 'top', -10);
          const below = t.row(50001);
          const before = below.getBoundingClientRect().top;
          const items = [...t.view.items];
          items[50000] = t.grown(items[50000], items[50000].height + 100);
          t.view.updateItems(items);
          return below.getBoundingClientRect().top - before;""")
        self.assertLessEqual(abs(moved), 1)

    def test_a_row_that_changes_its_height_by_itself_moves_nothing_above_the_pointer(self):
        moved = self.run_in_page("""
          t.reset();
          t.view.scrollToItem('50000', 'center');
          const pointed = t.row(t.view.indexOf('50000'));
          t.pointAt(pointed);
          const before = pointed.getBoundingClientRect().top;
          t.row(t.view.visible.first).style.height = '400px';
          await t.frame();
          await t.frame();
          return pointed.getBoundingClientRect().top - before;""")
        self.assertLessEqual(abs(moved), 1)

    def test_a_bar_that_comes_or_goes_above_the_view_moves_no_row(self):
        more = f"t.view.updateItems(t.make({COUNT}, '').toSpliced(9, 0, ...t.make(99, 'new')));"
        bars = {"alone": "", "and rows come at the same moment": more}
        for name, meanwhile in bars.items():
            with self.subTest(name):
                moved = self.run_in_page(f"""
                  t.reset();
                  t.view.scrollToItem('50000', 'center');
                  const top = () => t.view.row('50000').getBoundingClientRect().top;
                  const before = top();
                  const bar = document.createElement('div');
                  bar.style.height = '34px';
                  t.element.before(bar);
                  t.element.style.height = '566px';
                  {meanwhile}
                  await t.frame();
                  const withBar = top() - before;
                  bar.remove();
                  t.element.style.height = '600px';
                  {meanwhile}
                  await t.frame();
                  return [withBar, top() - before];""")
                for distance in moved:
                    self.assertLessEqual(abs(distance), 1)

    def test_a_bar_that_goes_above_the_end_moves_no_row(self):
        # A view that grows reaches less far; the browser clips it and calls that a scroll.
        told = "void t.element.scrollTop; await t.frame();"
        update = "t.view.updateItems([...t.view.items], false, {});"
        meanwhile = {
            "alone": told,
            "and rows come at the same moment": update.format("false"),
            "and rows come that the view does not follow": update.format("true"),
            "and such rows come a moment later": told + update.format("true"),
        }
        for name, action in meanwhile.items():
            with self.subTest(name):
                moved = self.run_in_page(f"""
                  t.reset();
                  const bar = document.createElement('div');
                  bar.style.height = '34px';
                  t.element.before(bar);
                  t.element.style.height = '566px';
                  await t.frame();
                  t.view.scrollToEnd();
                  const last = t.row(t.view.items.length - 1);
                  const before = last.getBoundingClientRect().top;
                  bar.remove();
                  t.element.style.height = '600px';
                  {action}
                  await t.frame();
                  return last.getBoundingClientRect().top - before;""")
                self.assertLessEqual(abs(moved), 1)

    def test_a_view_that_moves_as_a_whole_takes_its_rows_along(self):
        moved = self.run_in_page("""
          t.reset();
          t.view.scrollToItem('50000', 'center');
          const before = t.distance(50000, 'top');
          const bar = document.createElement('div');
          bar.style.height = '34px';
          t.element.before(bar);
          t.element.style.height = '580px';
          await t.frame();
          const after = t.distance(50000, 'top');
          bar.remove();
          t.element.style.height = '600px';
          await t.frame();
          return after - before;""")
        self.assertLessEqual(abs(moved), 1)

    def test_the_end_stays_in_view_while_it_is_in_view(self):
        self.assertEqual([True, True, False, True], self.run_in_page("""
          t.reset();
          t.view.scrollToEnd();
          t.view.updateItems([...t.view.items, ...t.make(40, 'news')]);
          const followed = [t.view.isAtEnd, t.isInView(t.view.items.length - 1)];
          t.element.scrollTop -= 500;
          await t.frame();
          const { length } = t.view.items;
          t.view.updateItems([...t.view.items, ...t.make(40, 'more')]);
          return [...followed, t.view.isAtEnd, !t.isInView(length)];"""))

    def test_a_row_is_drawn_again_only_if_its_hash_changed_or_it_is_forced(self):
        self.assertEqual([0, 1, True], self.run_in_page("""
          t.reset();
          t.view.scrollToItem('500');
          const drawn = () => { const { count } = t; t.count = 0; return count; };
          drawn();
          t.view.updateItems([...t.view.items]);
          const same = drawn();
          const items = [...t.view.items];
          items[500] = t.grown(items[500], 60);
          t.view.updateItems(items);
          const one = drawn();
          t.view.updateItems(items, true);
          return [same, one, drawn() === t.rows().length];"""))

    def test_another_width_measures_anew_and_keeps_the_place(self):
        away = self.run_in_page("""
          t.reset();
          t.view.scrollToItem('50000', 'top');
          t.element.style.width = '300px';
          await t.frame();
          await t.frame();
          return t.distance(50000, 'top');""")
        self.assertLessEqual(abs(away), 1)

    def test_the_focus_stays_in_the_list_when_its_row_leaves_the_document(self):
        self.assertTrue(self.run_in_page("""
          t.reset();
          t.view.scrollToItem('500');
          const row = t.row(500);
          row.tabIndex = -1;
          row.focus();
          t.view.scrollToItem('70000');
          return !row.isConnected && document.activeElement === t.element;"""))

    def test_a_hidden_view_takes_items_and_shows_them_later(self):
        self.assertEqual([None, True], self.run_in_page("""
          t.element.style.display = 'none';
          await t.frame();
          t.reset();
          t.view.updateItems(t.make(50, 'few'));
          const { visible } = t.view;
          t.element.style.display = 'flex';
          await t.frame();
          await t.frame();
          return [visible, t.isInView(49)];"""))


if __name__ == "__main__":
    unittest.main()
