/** Which rule answers a request: the first in the script's order that matches and is neither used up nor waiting for its turn. */
import type { AskedRequest } from './request.js';
import type { ReadyRule, ReadyScript } from './script.js';

/** Keeps count over the life of a server. */
export const createChooser = (script: ReadyScript): ((request: AskedRequest) => ReadyRule | null) => {
  const seen = new Map<ReadyRule, number>();
  const used = new Map<ReadyRule, number>();
  const up = (counts: Map<ReadyRule, number>, rule: ReadyRule): number => {
    const next = (counts.get(rule) ?? 0) + 1;
    counts.set(rule, next);
    return next;
  };
  return (request) => {
    for (const rule of script.rules) {
      if (!fits(rule, request)) continue;
      const { nth, times } = rule.match;
      if (nth !== undefined && up(seen, rule) !== nth) continue;
      if (times !== undefined && (used.get(rule) ?? 0) >= times) continue;
      up(used, rule);
      return rule;
    }
    return script.fallback;
  };
};

const fits = ({ match: { contains, regex, role } }: ReadyRule, request: AskedRequest): boolean => {
  const text = request.texts
    .filter((t) => role === undefined || t.role === role)
    .map((t) => t.text)
    .join('\n');
  const wanted = contains === undefined ? [] : [contains].flat();
  return wanted.every((part) => text.includes(part)) && (regex === undefined || new RegExp(regex, 'mu').test(text));
};
