/**
 * The generated work: for each fault a carrier, that is, a job with files of its own and the model's answers to it. Every line of every
 * file names its file and number, so that whatever is found later in a file says where it came from.
 */
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';
import type { PlanDocument } from './plans.js';

export type RehearsalRule = RehearsalScript['rules'][number];
export type ModelFault = NonNullable<RehearsalRule['fault']>;

/** What a kind of fault asks of the job that carries it. */
export interface Traits {
  /** `phases` and `waves`: the carrier is a plan, each phase of which changes a file (plans.ts). */
  readonly plan: 'none' | 'phases' | 'waves';
  /** A plan has one phase more, of one file each. */
  readonly files: 1 | 2;
  /** False: a model picks the files. */
  readonly named: boolean;
  /** `fails first`: the tests refuse the model's first answer. */
  readonly tests: 'none' | 'pass' | 'slow' | 'fails first';
  /** `default`: with the sandbox that is there. `off`: the tests run in the workspace, after the apply. */
  readonly sandbox: 'default' | 'off';
  readonly approval: 'ask' | 'auto';
  readonly format: 'whole-file' | 'search-replace';
  /** Met by the first requests for the carrier's first file, `faults` of them (default: one). */
  readonly fault: ModelFault | null;
  readonly faults?: number;
}

export interface Carrier {
  /** `c07`: its directory in the workspace, and in all its texts. */
  readonly name: string;
  /** Absolute. */
  readonly workspace: string;
  readonly traits: Traits;
  readonly paths: readonly string[];
  readonly job: string;
  /** Null: the job is a step's. */
  readonly plan: PlanDocument | null;
  readonly rules: readonly RehearsalRule[];
  /** Bytes of each file before anything, and as the model wants it in the end. */
  readonly base: Readonly<Record<string, string>>;
  readonly wanted: Readonly<Record<string, string>>;
  /** Other files that its repository begins with. */
  readonly more: Readonly<Record<string, string>>;
}

/** Lines of a file; the model changes two of them to the same version, people save another. */
export const LINES = 40;
export const MODEL_LINES = [10, 20] as const;
export const PERSON_LINE = 30;

const lineOf = (path: string, n: number, text: string): string => `${path} line ${n}: ${text}\n`;
const content = (path: string, changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: LINES }, (_, i) => lineOf(path, i + 1, changed[i + 1] ?? 'as it was')).join(
    '',
  );
/** What a person makes of the bytes that they see. `overlapping`: in the very line that the model changes. */
export const savedBy = (path: string, seen: string, save: string, overlapping = false): string => {
  const n = overlapping ? MODEL_LINES[0] : PERSON_LINE;
  const lines = seen.split('\n');
  lines[n - 1] = lineOf(path, n, `saved by a person, ${save}`).trimEnd();
  return lines.join('\n');
};
const edited = (path: string, version: string): string =>
  content(path, Object.fromEntries(MODEL_LINES.map((n) => [n, `edited, ${version}`])));

const wholeFile = (path: string, text: string): string =>
  `FILE ${path} {{nonce}}\n${text}END FILE {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`;
const blocks = (path: string, version: string): string =>
  [
    ...MODEL_LINES.flatMap((n) => [
      `FILE: ${path}`,
      'FIND:',
      lineOf(path, n, 'as it was').trimEnd(),
      'REPLACE:',
      lineOf(path, n, `edited, ${version}`).trimEnd(),
      'END {{nonce}}',
    ]),
    `EMEND-COMPLETE {{nonce}} 1 ${MODEL_LINES.length}`,
    '',
  ].join('\n');

/** Said by the failing tests; the model that reads it gives the better answer. */
const complaint = (name: string): string => `the tests of ${name} want version 2`;
/** Said by a person who wants another version. */
export const revision = (name: string): string => `please make version 3 of ${name}`;

const testOf = (name: string, { tests }: Traits, path: string): string | null => {
  const isThere = (version: string): string => `grep -q 'edited, ${version}' ${path}`;
  switch (tests) {
    case 'none':
      return null;
    case 'pass':
      return isThere('');
    case 'slow':
      return `sleep 1; ${isThere('')}`;
    case 'fails first':
      return `${isThere('[23]')} || { echo '${complaint(name)}'; exit 1; }`;
  }
};

export const answersTo = (
  name: string,
  traits: Traits,
  paths: readonly string[],
): RehearsalRule[] => {
  const answer = (path: string, version: string): string =>
    traits.format === 'whole-file' ? wholeFile(path, edited(path, version)) : blocks(path, version);
  const shown = (path: string, ...more: string[]) => ({ contains: [`- ${path}`, ...more] });
  const first = paths[0]!;
  const faulty: RehearsalRule[] =
    traits.fault === null
      ? []
      : [
          {
            name: `${name} fault`,
            match: { ...shown(first), times: traits.faults ?? 1 },
            answer: answer(first, '1'),
            fault: traits.fault,
          },
        ];
  const marked = (text: string): string => `${text}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
  return [
    {
      name: `${name} brief`,
      match: { contains: ['Now write the brief', name] },
      answer: marked('Number the lines.'),
    },
    {
      name: `${name} pick`,
      // By the task's heading: another carrier's commit, `changed with "Carry …"`, may stand beside a file.
      match: { contains: ['Files of the project', `# Carry ${name} over`] },
      answer: marked(
        JSON.stringify({ files: paths.map((path) => ({ path, why: 'named by the job' })) }),
      ),
    },
    ...faulty,
    ...paths.flatMap((path, i) => [
      {
        name: `${name} ${i} version 3`,
        match: shown(path, revision(name)),
        answer: answer(path, '3'),
      },
      {
        name: `${name} ${i} version 2`,
        match: shown(path, complaint(name)),
        answer: answer(path, '2'),
      },
      // Slow enough for faults in the middle of the stream.
      {
        name: `${name} ${i}`,
        match: shown(path),
        answer: answer(path, '1'),
        chunk_bytes: 160,
        fault: [{ kind: 'slow' as const, chunk_ms: 40 }],
      },
    ]),
  ];
};

/** Bytes of each file before anything, and as the model wants it in the end. */
export const filesOf = (
  paths: readonly string[],
  version: string,
): Pick<Carrier, 'base' | 'wanted'> => ({
  base: Object.fromEntries(paths.map((path) => [path, content(path)])),
  wanted: Object.fromEntries(paths.map((path) => [path, edited(path, version)])),
});

export const carrierOf = (name: string, workspace: string, traits: Traits): Carrier => {
  const paths = ['a.txt', 'b.txt'].slice(0, traits.files).map((file) => `${name}/${file}`);
  const test = testOf(name, traits, paths[0]!);
  const job = [
    '---',
    ...(traits.named ? [`target_files: [${paths.join(', ')}]`] : []),
    `format: ${traits.format}`,
    ...(test === null ? [] : ['baseline: fix', `test: ${JSON.stringify(test)}`]),
    'commit: true',
    `approval: ${traits.approval}`,
    ...(traits.sandbox === 'off' ? ['sandbox: off'] : []),
    '---',
    `# Carry ${name} over`,
    '',
    'Say in the tenth line that it was edited.',
    '',
  ].join('\n');
  return {
    name,
    workspace,
    traits,
    paths,
    job,
    plan: null,
    rules: answersTo(name, traits, paths),
    ...filesOf(paths, traits.tests === 'fails first' ? '2' : '1'),
    more: {},
  };
};
