"use strict";
// Keeps what a reader has opened, scrolled and focused in a part of a page when that part is replaced.

/** Returns a selector for elements like this one: by their tag and first class. */
function selectorOf(part) {
  return part.classList.length ? `${part.localName}.${CSS.escape(part.classList[0])}` : part.localName;
}

/** Returns the position of an element: a selector, and the index among the elements that match it. */
function positionIn(root, part, selector = selectorOf(part)) {
  return { selector, index: [...root.querySelectorAll(selector)].indexOf(part) };
}

/** Returns the elements that may get the focus: a link to the same page, the scrolled element around it, or its successor. */
function focusCandidates(root) {
  const part = document.activeElement;
  if (part === root || !root.contains(part)) return [];
  const candidates = [];
  if (part.matches("a[href]")) candidates.push(positionIn(root, part, `a[href="${CSS.escape(part.getAttribute("href"))}"]`));
  const around = part.parentElement.closest("[tabindex]");
  if (around && root.contains(around)) candidates.push(positionIn(root, around));
  return [...candidates, positionIn(root, part)];
}

/** Notes the open, scrolled and focused elements; returns a function that restores them in the replacement. */
function keepReading(root) {
  const opened = [...root.querySelectorAll("details[open]")].map((part) => positionIn(root, part));
  const scrolled = [...root.querySelectorAll("*")]
    .filter((part) => part.scrollLeft || part.scrollTop)
    .map((part) => ({ ...positionIn(root, part), left: part.scrollLeft, top: part.scrollTop }));
  const focused = focusCandidates(root);

  return (fresh) => {
    const find = ({ selector, index }) => fresh.querySelectorAll(selector)[index];
    for (const position of opened) find(position)?.setAttribute("open", "");
    for (const position of scrolled) find(position)?.scrollTo(position.left, position.top);
    focused.map(find).find(Boolean)?.focus({ preventScroll: true });
  };
}
