// The page of a rule: the subset of Markdown that these pages use.

import { element } from "./elements.js";

const ABOUT = { bad: "wrong:", good: "right:", said: "reported as:" };

/** Return the elements for a page in Markdown. */
export function paragraphs(markdown) {
  const nodes = [];
  for (const block of markdown.matchAll(/^```([^\n]*)\n([^]*?)^```$|^(#+) (.*)$|^((?:- .*|  \S.*)(?:\n(?:- |  ).*)*)|^([^\n`#-][^]*?)(?=\n\n|\n```|\n#|\n- |\s*$(?![^]))/gm)) {
    const [, about, code, level, heading, items, words] = block;
    if (code !== undefined) nodes.push(...fence(about, code));
    else if (heading) nodes.push(element(level.length > 1 ? "h3" : "h2", {}, ...inline(heading)));
    else if (items) nodes.push(element("ul", {}, ...items.split(/\n?^- /m).filter(Boolean).map((each) => element("li", {}, ...inline(each)))));
    else if (words) nodes.push(element("p", {}, ...inline(words)));
  }
  return nodes;
}

function fence(about, code) {
  const label = about.split(" ").map((word) => ABOUT[word]).find(Boolean);
  const shown = element("pre", { tabindex: "0" }, code);
  return label ? [element("p", { class: "soft" }, label), shown] : [shown];
}

function inline(words) {
  return words.split(/(`[^`]+`|\[[^\]]+\]\(https?:[^)\s]+\))/).filter(Boolean).map((part) => {
    const link = part.match(/^\[([^\]]+)\]\((https?:[^)\s]+)\)$/);
    if (link) return element("a", { href: link[2], rel: "noreferrer", target: "_blank" }, link[1].replaceAll("`", ""));
    return /^`.+`$/.test(part) ? element("code", {}, part.slice(1, -1)) : part.replaceAll("\n", " ");
  });
}
