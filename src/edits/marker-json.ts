/** The completeness marker of a JSON answer: `complete: true` and the nonce, after the operations, in a text that ends there. */
import { type Json, type JsonRead, isJsonObject, readJson } from './structured-edit-json.js';
import type { Reason, MarkedBody } from './types.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

export interface FoundMarker extends MarkedBody {
  /** A fence round the answer was opened and not closed. */
  readonly openFence: boolean;
  /** What was left out, and why the marker is not right. */
  readonly notes: readonly Reason[];
}

interface Candidate {
  /** From the brace to the end, without the closing fence. */
  readonly body: string;
  readonly openFence: boolean;
  readonly read: JsonRead;
  readonly from: number;
  readonly proseBefore: boolean;
}

export const findJsonMarker = (answer: string, nonce: string | undefined): FoundMarker => {
  const candidate = choose(answer);
  if (candidate === null)
    return {
      body: answer,
      marker: 'missing',
      openFence: false,
      notes: [{ code: 'marker_missing', message: 'The answer holds no JSON object.' }],
    };
  const notes: Reason[] = candidate.proseBefore
    ? [{ code: 'prose_before', message: 'Text before the JSON object was left out.' }]
    : [];
  const { body, openFence, read } = candidate;
  const wrong = read.kind === 'value' && ended(candidate) ? markerFault(read.value, nonce) : 'missing';
  // Of an object that cannot be read nobody knows how it ends; the reader says what is wrong with it.
  if (wrong !== null && read.kind !== 'broken') {
    const asked = nonce === undefined ? '"complete": true' : `"complete": true, "nonce": "${nonce}"`;
    notes.push({
      code: `marker_${wrong}`,
      message: `The object does not end in its last keys ${asked}, after the operations.`,
    });
  }
  return { body, marker: wrong ?? 'right', openFence, notes };
};

const choose = (answer: string): Candidate | null => {
  const starts = [...answer.matchAll(/^[ \t]*\{/gm)]
    .slice(0, EDIT_BOUNDS.jsonCandidates)
    .map((m) => m.index + m[0].length - 1);
  const inline = answer.indexOf('{"');
  if (starts.length === 0 && inline >= 0) starts.push(inline);
  let first: Candidate | null = null;
  for (const from of starts) {
    const candidate = cut(answer, from);
    if (candidate.read.kind === 'open' || ended(candidate)) return candidate;
    first ??= candidate;
  }
  return first;
};

const cut = (answer: string, from: number): Candidate => {
  const before = answer.slice(0, from).trimEnd();
  const fence = /(?:^|\n) {0,3}(`{3,}|~{3,})[^`\n]*$/.exec(before);
  const opening = fence?.[1];
  const proseBefore = before.slice(0, fence?.index ?? before.length).trim() !== '';
  if (opening === undefined)
    return { body: answer.slice(from), openFence: false, read: readJson(answer, from), from, proseBefore };
  const closing = /\n {0,3}(`{3,}|~{3,})\s*$/.exec(answer);
  const isClosed = closing !== null && closing.index > from && closing[1]?.startsWith(opening) === true;
  const body = answer.slice(from, isClosed ? closing.index : answer.length);
  return { body, openFence: !isClosed, read: readJson(answer, from), from, proseBefore };
};

/** Is there nothing but white space after the value? */
const ended = ({ read, from, body }: Candidate): boolean =>
  read.kind === 'value' && body.slice(read.end - from).trim() === '';

const markerFault = (value: Json, nonce: string | undefined): 'missing' | 'wrong' | null => {
  if (!isJsonObject(value) || value.complete === undefined) return 'missing';
  const keys = Object.keys(value);
  const operations = keys.indexOf('operations');
  const after = (key: string): boolean => keys.indexOf(key) > operations;
  if (value.complete !== true || !after('complete')) return 'wrong';
  if (nonce === undefined) return null;
  return value.nonce === nonce && after('nonce') ? null : 'wrong';
};
