// Elements of the page. Text of a file is never parsed as HTML.

export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export const button = (text, onclick, attributes = {}) => element("button", { type: "button", onclick, ...attributes }, text);

/** Return text with the parts in backticks as code. */
export function prose(written) {
  return written.split(/(`[^`]+`)/).filter(Boolean).map((part) => (/^`.+`$/.test(part) ? element("code", {}, part.slice(1, -1)) : part));
}
