/**
 * Dependencies and waves, of phases or of the stages of one phase. A part without a `**Dependencies**` line depends on all before it
 * in the document; one that says `[]` on nothing.
 */

import type { Fault, Part } from './types.js';

const PLAN_WAVE = 3; // bound: Phases that run at once.

export interface Wave {
  /** Numbers in document order. */
  readonly parts: readonly number[];
  /** The same, at most `PLAN_WAVE` at once; each starts from what the one before has left. */
  readonly subWaves: readonly (readonly number[])[];
}
export type Waves = Readonly<
  { ok: true; waves: readonly Wave[]; declared: boolean } | { ok: false; faults: readonly Fault[] }
>;

/** Kahn's algorithm by levels. Every fault at once, each at the line that a person has to change. `file` holds the headings. */
export function wavesOf(parts: readonly Part[], fileOf: (part: Part) => string): Waves {
  const faults = [...doubled(parts, fileOf), ...missing(parts, fileOf)];
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
    (level[index] ??= Math.max(0, ...(edges[index] ?? []).map((on) => levelOf(on) + 1)));
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
 * What each part waits for, by what `of` calls them. `on`: the numbers of its line, which are known to be there, and once; without one it
 * waits for all before it. What the last such part before it waits for, it need not name again.
 */
export function waitsFor<T>(
  parts: readonly { readonly number: number; readonly on: readonly number[] | null }[],
  of: (index: number) => T,
): readonly (readonly T[])[] {
  const indexOf = new Map(parts.map(({ number }, index) => [number, index]));
  let from = 0;
  return parts.map(({ on }, index) => {
    if (on !== null) return on.flatMap((number) => indexOf.get(number) ?? []).map(of);
    const before = Array.from({ length: index - from }, (_, each) => of(from + each));
    from = index;
    return before;
  });
}

/** Where a person changes what the part depends on: its line, else its heading. */
const placeOf = (part: Part, fileOf: (part: Part) => string): Omit<Fault, 'message'> => ({
  file: fileOf(part),
  line: (part.dependencies ?? part.heading).line,
});

const nameOf = ({ heading }: Part): string =>
  `${heading.kind === 'phase' ? 'Phase' : 'Stage'} ${heading.number}`;

function doubled(parts: readonly Part[], fileOf: (part: Part) => string): readonly Fault[] {
  const first = new Map<number, Part>();
  const twice = new Set<number>();
  const faults: Fault[] = [];
  for (const part of parts) {
    const earlier = first.get(part.heading.number);
    if (earlier === undefined) first.set(part.heading.number, part);
    else {
      twice.add(part.heading.number);
      const message = `expected each number once, but line ${earlier.heading.line} is already ${nameOf(part)}`;
      faults.push({ file: fileOf(part), line: part.heading.line, message });
    }
  }
  for (const part of parts)
    for (const number of part.dependencies?.on ?? [])
      if (twice.has(number))
        faults.push({
          ...placeOf(part, fileOf),
          message: `**Dependencies**: expected a unique ${part.heading.kind} number, but several have ${number}`,
        });
  return faults;
}

function missing(parts: readonly Part[], fileOf: (part: Part) => string): readonly Fault[] {
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
  const numbers = circle.flatMap((each) => parts[each]?.heading.number ?? []).sort((a, b) => a - b);
  const others =
    numbers.length === 1
      ? 'itself'
      : `a dependency cycle: ${numbers.join(', ')} wait for each other`;
  const how =
    part.dependencies === null
      ? `without a **Dependencies** line it depends on all before it, which creates `
      : '**Dependencies**: expected no cycle, received ';
  return { ...placeOf(part, fileOf), message: `${how}${nameOf(part)} in ${others}` };
}

/** Tarjan's strongly connected components, those of one member only where it points to itself. */
function cyclesOf(edges: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const order: number[] = [];
  const lowest: number[] = [];
  const stack: number[] = [];
  const onStack = new Set<number>();
  const found: (readonly number[])[] = [];
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
    if (members.length > 1 || edges[node]?.includes(node) === true) found.push(members);
    return low;
  };
  edges.forEach((_, node) => {
    if (order[node] === undefined) visit(node);
  });
  return found;
}
