/** Files that a template engine fills in before a parser reads them: Helm, Jinja, Ansible, ERB. */

/** An expression or a statement. `${{ … }}` of GitHub and Azure is none: it is part of a YAML value. */
const TEMPLATE = /(?<!\$)\{\{|\{%|\{#|<%|<\?php|(?<!\$)\$\{(?!\{)/;
/** An escape outside of quotes is taken whole, so each quote is tried once and the search is linear. */
const QUOTED = /\\.|"(?:[^"\\]|\\.)*"|'[^']*'/g;

/** Returns whether a line holds an expression of a template outside of quotes, where it may stand for any text. */
export const isTemplate = (lines: readonly string[]): boolean =>
  lines.some((line) => TEMPLATE.test(line) && TEMPLATE.test(line.replace(QUOTED, '')));
