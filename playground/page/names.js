// Names of files: relative paths of a folder, as running.py accepts them.

const NAME = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\w.-]+(?:\/[\w.-]+)*$/;
const LONGEST = 100;

/** Return why a file next to others cannot have a name; "" if it can. */
export function nameProblem(name, others) {
  if (!name) return "A file needs a name.";
  if (name.length > LONGEST) return `A name has at most ${LONGEST} characters.`;
  if (!NAME.test(name)) return "A name has letters, digits, and the characters . _ - with / between folders, such as base/cart.yaml.";
  if (others.includes(name)) return `There is a file ${name} already.`;
  const folder = others.find((each) => each.startsWith(`${name}/`) || name.startsWith(`${each}/`));
  return folder ? `${name} and ${folder} cannot both exist: one would be a file and a folder.` : "";
}
