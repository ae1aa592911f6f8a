// Lists of tabs, operated with the arrow keys as WAI-ARIA describes.

const tabsOf = (list) => [...list.querySelectorAll("[role=tab]")];

/** Call `choose` with the tab that the user chooses in a list. */
export function operate(list, choose) {
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const shown = tabsOf(list).filter((each) => !each.hidden);
    const at = shown.indexOf(event.target.closest("[role=tab]"));
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + shown.length, Home: 0, End: shown.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const tab = shown[next % shown.length];
    choose(tab);
    tabsOf(list).find((each) => each.id === tab.id)?.focus();
  });
}

/** Mark a tab as the chosen one. */
export function mark(list, chosen) {
  for (const tab of tabsOf(list)) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
}
