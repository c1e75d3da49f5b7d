/**
 * Placeholders of a scripted answer, filled from the request:
 * `{{nonce}}`      the last run of 20 hex digits in the last user message
 * `{{line:1200}}`  `1200:k3f`, as the listing of the user's messages shows line 1200
 */
import type { AskedRequest } from './request.js';

const NONCE = /\b[0-9a-f]{20}\b/g;

/** A nonce that is certainly not the request's. */
const wrong = (nonce: string): string => `${nonce.startsWith('0') ? 'f' : '0'}${nonce.slice(1)}`;

type Filled = { readonly text: string } | { readonly failure: string };

/** A placeholder that the request gives nothing (or not one thing) for is a mistake of the script, told as such. */
export const fillAnswer = (answer: string, request: AskedRequest, nonceFault: 'wrong' | 'missing' | null): Filled => {
  const users = request.texts.filter((t) => t.role === 'user').map((t) => t.text);
  const failures: string[] = [];
  const text = answer.replaceAll(/\{\{(nonce|line:(\d+))\}\}/g, (whole, _what, line: string | undefined) => {
    if (line !== undefined) {
      const checks = new Set(
        users.flatMap((user) => [...user.matchAll(new RegExp(`^${line}:([0-9a-z]{3})\\|`, 'gm'))].map((m) => m[1])),
      );
      const [check] = checks;
      if (checks.size === 1) return `${line}:${String(check)}`;
      failures.push(
        checks.size === 0 ? `line ${line} is in no listing of the request` : `line ${line} is listed more than once`,
      );
      return whole;
    }
    if (nonceFault === 'missing') return '';
    const nonce = users.at(-1)?.match(NONCE)?.at(-1);
    if (nonce === undefined) failures.push('the last message holds no nonce');
    return nonce === undefined ? whole : nonceFault === 'wrong' ? wrong(nonce) : nonce;
  });
  const [failure] = failures;
  return failure === undefined ? { text } : { failure };
};
