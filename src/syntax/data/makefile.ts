/** Recipes of a Makefile that begin with spaces: GNU make stops there with "missing separator". */
import type { DataFault } from '../../edits/index.js';

const ASSIGNMENT = /^\s*(?:(?:export|override|private)\s+)*[^\s:#=+?!]+\s*(?:[?+!]|:{1,3})?=/;
const DIRECTIVE =
  /^\s*(?:ifn?eq|ifn?def|if|else|endif|-?include|sinclude|define|endef|export|unexport|override|private|vpath|undefine|load)\b/;
/** A call that expands to nothing, or to whole rules. */
const CALL_ALONE = /^\s*\$[({].*[)}]\s*$/;
const REFERENCE = /\$(?:\([^()]*\)|\{[^{}]*\})/g;
const REFERENCE_DEPTH = 5; // bound: References within references that are looked past.
const OTHER_PREFIX = /^\s*\.RECIPEPREFIX\s*[:?]?=/m;
/** Microsoft's `nmake` accepts spaces; its directives, references and compilers. */
const NMAKE =
  /^!(?:if|ifn?def|include|else|endif|message|error)\b|\$\*\*|^\s+(?:csc|vbc|cl|ilasm|tlbimp|sn|link|midl|rc)(?:\.exe)?\s/i;

/** Returns the recipe lines of `result` that begin with spaces; none if `base` has such lines itself. */
export const makefileFaults = (
  base: readonly string[] | null,
  result: readonly string[],
): readonly DataFault[] => {
  const faults = faultsIn(result);
  return faults.length === 0 || (base !== null && faultsIn(base).length > 0) ? [] : faults;
};

const faultsIn = (lines: readonly string[]): readonly DataFault[] => {
  if (lines.some((line) => OTHER_PREFIX.test(line) || NMAKE.test(line))) return [];
  const faults: DataFault[] = [];
  let isInRecipe = false;
  let isContinued = false;
  let isInDefinition = false;
  for (const [index, line] of lines.entries()) {
    const continues = isContinued;
    isContinued = /(?<!\\)(?:\\\\)*\\$/.test(line);
    if (continues || line.trim() === '' || /^\s*#/.test(line)) continue;
    if (isInDefinition || /^\s*define\b/.test(line)) {
      isInDefinition = !/^\s*endef\b/.test(line);
      continue;
    }
    if (line.startsWith('\t') || DIRECTIVE.test(line)) continue;
    if (isInRecipe && isSpacedRecipe(line))
      faults.push({ line: index, what: 'a recipe line begins with a tab, not with spaces' });
    else isInRecipe = isRule(line);
  }
  return faults;
};

const isSpacedRecipe = (line: string): boolean =>
  line.startsWith(' ') &&
  !ASSIGNMENT.test(line) &&
  !CALL_ALONE.test(line) &&
  !(isRule(line) && namesTargets(line));

/** Looks past the colons within references such as `$(SOURCES:.c=.o)`, which may hold one another. */
const isRule = (line: string): boolean => {
  let plain = line;
  for (let depth = 0; depth < REFERENCE_DEPTH && plain.includes('$'); depth += 1)
    plain = plain.replace(REFERENCE, 'x');
  const colon = plain.indexOf(':');
  return colon > 0 && !/^::?:?=/.test(plain.slice(colon)) && !plain.slice(0, colon).includes('=');
};

/** A command has quotes, options or `@` before its first colon, or no blank behind it. */
const namesTargets = (line: string): boolean => {
  const colon = line.indexOf(':');
  const names = line.slice(0, colon);
  return !/["'`]|\s[-@]|\/\//.test(names) && /^::?(?:\s|$)/.test(line.slice(colon));
};
