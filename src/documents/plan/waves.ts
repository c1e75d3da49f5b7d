/**
 * Computes the waves of the phases of a plan, or of the stages of a phase, from their dependencies. A part without a `**Dependencies**` line
 * depends on all parts before it in the document. A part with `[]` depends on none.
 */

import type { Fault, Part } from './types.js';

const PLAN_WAVE = 3; // bound: Phases that run at once.

/** Parts that do not depend on each other. */
export interface Wave {
  /** Numbers of the parts in document order. */
  readonly parts: readonly number[];
  /** The same numbers in groups of at most `PLAN_WAVE`. Each group starts from the result of the group before it. */
  readonly subWaves: readonly (readonly number[])[];
}
type Waves = Readonly<
  { ok: true; waves: readonly Wave[]; declared: boolean } | { ok: false; faults: readonly Fault[] }
>;

/**
 * Sorts the parts into waves (Kahn's algorithm by levels), or returns all faults at once. Each fault names the line that has to change.
 * `fileOf` returns the file in which the dependencies of a part are.
 */
export function wavesOf(parts: readonly Part[], fileOf: (part: Part) => string): Waves {
  const faults = [...duplicateFaults(parts, fileOf), ...missingFaults(parts, fileOf)];
  if (faults.length > 0) return { ok: false, faults };
  const edges = waitsFor(
    parts.map(({ heading, dependencies }) => ({
      number: heading.number,
      on: dependencies?.on ?? null,
    })),
    (index) => index,
  );
  const circles = cyclesOf(edges);
  if (circles.length > 0)
    return {
      ok: false,
      faults: circles.flatMap((circle) =>
        circle.map((index) => cycleFault(parts, circle, index, fileOf)),
      ),
    };
  const waves: number[][] = [];
  const level: number[] = [];
  const levelOf = (index: number): number =>
    (level[index] ??= Math.max(0, ...(edges[index] ?? []).map((other) => levelOf(other) + 1)));
  for (const [index, { heading }] of parts.entries())
    (waves[levelOf(index)] ??= []).push(heading.number);
  const declared = parts.some(({ dependencies }) => dependencies !== null);
  return {
    ok: true,
    declared,
    waves: waves.map((wave) => ({ parts: wave, subWaves: inSlices(wave) })),
  };
}

const inSlices = (numbers: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: Math.ceil(numbers.length / PLAN_WAVE) }, (_, index) =>
    numbers.slice(index * PLAN_WAVE, (index + 1) * PLAN_WAVE),
  );

/**
 * Returns for each part the parts that it waits for. `nameOf` returns the value that represents a part in the result. `on` are the numbers in
 * the part's line; the caller has checked that each exists once. A part without the line (null) waits for all parts before it. The last part
 * without a line already waits for those before itself, so only it and the parts after it are listed.
 */
export function waitsFor<T>(
  parts: readonly { readonly number: number; readonly on: readonly number[] | null }[],
  nameOf: (index: number) => T,
): readonly (readonly T[])[] {
  const indexOf = new Map(parts.map(({ number }, index) => [number, index]));
  let from = 0;
  return parts.map(({ on }, index) => {
    if (on !== null) return on.flatMap((number) => indexOf.get(number) ?? []).map(nameOf);
    const before = Array.from({ length: index - from }, (_, offset) => nameOf(from + offset));
    from = index;
    return before;
  });
}

/** Returns the place of a part's dependencies: their line, or the heading if there is none. */
const placeOf = (part: Part, fileOf: (part: Part) => string): Omit<Fault, 'message'> => ({
  file: fileOf(part),
  line: (part.dependencies ?? part.heading).line,
});

const titleOf = ({ heading }: Part): string =>
  `${heading.kind === 'phase' ? 'Phase' : 'Stage'} ${heading.number}`;

/** Reports numbers that several parts have, and dependencies on such a number. */
function duplicateFaults(parts: readonly Part[], fileOf: (part: Part) => string): readonly Fault[] {
  const first = new Map<number, Part>();
  const duplicates = new Set<number>();
  const faults: Fault[] = [];
  for (const part of parts) {
    const earlier = first.get(part.heading.number);
    if (earlier === undefined) first.set(part.heading.number, part);
    else {
      duplicates.add(part.heading.number);
      const message = `expected each number once, but line ${earlier.heading.line} is already ${titleOf(part)}`;
      faults.push({ file: fileOf(part), line: part.heading.line, message });
    }
  }
  for (const part of parts)
    for (const number of part.dependencies?.on ?? [])
      if (duplicates.has(number))
        faults.push({
          ...placeOf(part, fileOf),
          message: `**Dependencies**: expected a unique ${part.heading.kind} number, but several have ${number}`,
        });
  return faults;
}

/** Reports dependencies on numbers that no part has. */
function missingFaults(parts: readonly Part[], fileOf: (part: Part) => string): readonly Fault[] {
  const known = new Set(parts.map(({ heading }) => heading.number));
  return parts.flatMap((part) =>
    (part.dependencies?.on ?? [])
      .filter((number) => !known.has(number))
      .map((number) => ({
        ...placeOf(part, fileOf),
        message: `**Dependencies**: expected ${part.heading.kind}s of this plan; ${number} does not exist`,
      })),
  );
}

function cycleFault(
  parts: readonly Part[],
  circle: readonly number[],
  index: number,
  fileOf: (part: Part) => string,
): Fault {
  const part = parts[index];
  if (part === undefined) throw new Error(`No part ${index}.`);
  const numbers = circle
    .flatMap((member) => parts[member]?.heading.number ?? [])
    .sort((a, b) => a - b);
  const others =
    numbers.length === 1
      ? 'itself'
      : `a dependency cycle: ${numbers.join(', ')} wait for each other`;
  const cause =
    part.dependencies === null
      ? `without a **Dependencies** line it depends on all before it, which creates `
      : '**Dependencies**: expected no cycle, received ';
  return { ...placeOf(part, fileOf), message: `${cause}${titleOf(part)} in ${others}` };
}

/** Returns the cycles: Tarjan's strongly connected components, including a single part that depends on itself. */
function cyclesOf(edges: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const order: number[] = [];
  const lowest: number[] = [];
  const stack: number[] = [];
  const onStack = new Set<number>();
  const cycles: (readonly number[])[] = [];
  let count = 0;
  const visit = (node: number): number => {
    let low = (order[node] = count++);
    stack.push(node);
    onStack.add(node);
    for (const next of edges[node] ?? [])
      if (order[next] === undefined) low = Math.min(low, visit(next));
      else if (onStack.has(next)) low = Math.min(low, order[next]);
    lowest[node] = low;
    if (low !== order[node]) return low;
    const members = stack.splice(stack.indexOf(node));
    for (const member of members) onStack.delete(member);
    if (members.length > 1 || edges[node]?.includes(node) === true) cycles.push(members);
    return low;
  };
  edges.forEach((_, node) => {
    if (order[node] === undefined) visit(node);
  });
  return cycles;
}
