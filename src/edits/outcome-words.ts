/** Refusals in words that a model can act on: where, what, and what to send instead (each reason's message says the last). */
import type { Reason } from './types.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

/** A numbered list, one reason an entry; `''` where there is none. */
export const renderReasons = (reasons: readonly Reason[]): string => {
  const shown = reasons
    .slice(0, EDIT_BOUNDS.namesTold)
    .map((reason, i) => `${i + 1}. ${place(reason)}${reason.message} (${reason.code})`);
  const more = reasons.length - shown.length;
  return [...shown, ...(more > 0 ? [`… and ${more} more of this kind.`] : [])].join('\n');
};

const place = ({ path, index }: Reason): string => {
  const parts = [
    ...(path === undefined ? [] : [path]),
    ...(index === undefined ? [] : [`edit ${index} (counted from 0)`]),
  ];
  return parts.length === 0 ? '' : `${parts.join(', ')}: `;
};
