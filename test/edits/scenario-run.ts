/**
 * Reads and runs a scenario (`test/scenarios/README.md`): `scenario.json`, `base/`, `answer`, and `expected/` or `refusal`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { Syntax } from '../../src/edits/syntax-port.js';
import { LANGUAGES } from '../../src/syntax/languages.js';
import { loadSyntax } from '../../src/syntax/load.js';
import { applySplices, invertSplices } from '../../src/edits/text/splices.js';
import type {
  AnswerOutcome,
  ApplyAnswerInput,
  ApplyOptions,
  OfferedFile,
  Reason,
} from '../../src/edits/types.js';
import { readTxtar } from '../support/txtar.js';

interface ScenarioFile {
  readonly format: ApplyAnswerInput['format'];
  /** `base` as an object; `requireMarker` is false unless said. */
  readonly options?: Omit<Partial<ApplyOptions>, 'base'> & {
    readonly base?: Readonly<Record<string, string>>;
  };
  /** What is known of files in `base/`; modes in octal. */
  readonly files?: Readonly<
    Record<string, Omit<OfferedFile, 'bytes' | 'mode'> & { readonly mode?: string }>
  >;
  /** True: grammars are handed in. */
  readonly syntax?: boolean;
  /** Paths that may be created. */
  readonly absent?: readonly string[];
  /** Of the outcome all but the files; what is not said is empty. Modes (octal) of changed files. */
  readonly expect?: Record<string, unknown> & { readonly modes?: Readonly<Record<string, string>> };
}

/** The bytes of a tree as text, one character a byte, so that a difference can be read. */
type Tree = Record<string, string>;
/** A whole outcome as plain data. */
interface Seen {
  readonly [key: string]: unknown;
  readonly outcome: AnswerOutcome['outcome'];
  readonly reasons?: readonly Reason[];
}

const FOLDER = fileURLToPath(new URL('../scenarios/', import.meta.url));

const ENDING = '.txtar';

export const scenarioNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length))
    .sort();

interface Scenario {
  readonly settings: ScenarioFile;
  readonly answer: string;
  readonly base: ReadonlyMap<string, Buffer>;
  readonly expected: ReadonlyMap<string, Buffer>;
  /** The outcome with all its reasons; null: the response is applied. */
  readonly refusal: Seen | null;
}

/** Reads the file of a scenario. Throws if a part is missing, or if a part has a name that means nothing. */
export const readScenario = (name: string): Scenario => {
  const files = new Map<string, Buffer>();
  for (const { path, bytes } of readTxtar(readFileSync(join(FOLDER, `${name}${ENDING}`), 'utf8'))) {
    if (!/^(?:scenario\.json|answer|refusal|(?:base|expected)\/.+)$/.test(path) || files.has(path))
      throw new Error(`${name}: ${path} is no part of a scenario, or occurs twice`);
    files.set(path, bytes);
  }
  const [settings, answer, refused] = ['scenario.json', 'answer', 'refusal'].map((path) =>
    files.get(path)?.toString('utf8'),
  );
  if (settings === undefined || answer === undefined)
    throw new Error(`${name} needs a scenario.json and an answer`);
  return {
    settings: JSON.parse(settings) as ScenarioFile,
    answer,
    base: treeIn(files, 'base/'),
    expected: treeIn(files, 'expected/'),
    refusal: refused === undefined ? null : (JSON.parse(refused) as Seen),
  };
};

const treeIn = (files: ReadonlyMap<string, Buffer>, folder: string): Map<string, Buffer> =>
  new Map(
    [...files]
      .filter(([path]) => path.startsWith(folder))
      .map(([path, bytes]) => [path.slice(folder.length), bytes]),
  );

const plain = (tree: ReadonlyMap<string, Uint8Array>): Tree =>
  Object.fromEntries(
    [...tree].sort().map(([path, bytes]) => [path, Buffer.from(bytes).toString('latin1')]),
  );

export interface Ran {
  readonly found: Seen;
  readonly wanted: Seen;
}

/** One `Syntax` for all scenarios: the grammars of every language. */
export const loadAllSyntax = (): Promise<Syntax> =>
  loadSyntax(LANGUAGES.flatMap(({ endings }) => endings.map((ending) => `x${ending}`)));

/** What the engine made of the scenario, and what the file says it must make of it, as comparable objects. */
export const runScenario = (name: string, syntax: Syntax): Ran => {
  const { settings, answer, base, expected, refusal: wantedRefusal } = readScenario(name);
  const { base: hashes, ...options } = settings.options ?? {};
  const outcome = applyAnswer({
    format: settings.format,
    answer,
    files: offeredFiles(settings, base),
    options: {
      requireMarker: false,
      ...options,
      ...(settings.syntax === true ? { syntax } : {}),
      ...(hashes === undefined ? {} : { base: new Map(Object.entries(hashes)) }),
    },
  });
  if (wantedRefusal !== null) return { found: refusal(outcome), wanted: wantedRefusal };
  const { modes = {}, ...expect } = settings.expect ?? {};
  return {
    found: edited(outcome, base),
    wanted: {
      outcome: 'edited',
      tolerances: [],
      notes: [],
      findings: [],
      renames: [],
      ...expect,
      modes,
      tree: plain(expected),
    },
  };
};

const offeredFiles = (
  { files, absent }: ScenarioFile,
  base: ReadonlyMap<string, Buffer>,
): Map<string, OfferedFile> => {
  const offered = new Map<string, OfferedFile>();
  for (const [path, bytes] of base) {
    const { mode, ...known } = files?.[path] ?? {};
    offered.set(path, {
      bytes,
      ...known,
      ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }),
    });
  }
  for (const path of absent ?? []) offered.set(path, { bytes: null });
  return offered;
};

const refusal = (outcome: AnswerOutcome): Seen =>
  outcome.outcome === 'edited'
    ? { outcome: 'edited' }
    : { outcome: outcome.outcome, reasons: outcome.reasons };

/** The tree after the edit, and all else that the outcome says but its summary. Splices must give the bytes, and their inverse the base. */
const edited = (outcome: AnswerOutcome, base: ReadonlyMap<string, Buffer>): Seen => {
  const empty = {
    tolerances: [],
    notes: [],
    findings: [],
    renames: [],
    modes: {},
    tree: plain(base),
  };
  if (outcome.outcome === 'unchanged')
    return { ...empty, outcome: 'unchanged', notes: outcome.reasons };
  if (outcome.outcome !== 'edited') return { ...empty, ...refusal(outcome) };
  const tree = new Map<string, Uint8Array>(base);
  const modes: Record<string, string> = {};
  const movedFrom = new Map(outcome.renames.map(({ from, to }) => [to, from]));
  for (const [path, result] of outcome.files) {
    if (result === 'absent') {
      tree.delete(path);
      continue;
    }
    tree.set(path, result.bytes);
    if (result.mode !== undefined) modes[path] = result.mode.toString(8);
    const old = base.get(movedFrom.get(path) ?? path) ?? new Uint8Array(0);
    const splices = outcome.splices.get(path) ?? [];
    if (Buffer.compare(applySplices(old, splices), result.bytes) !== 0)
      throw new Error(`splices of ${path}`);
    if (Buffer.compare(applySplices(result.bytes, invertSplices(old, splices)), old) !== 0)
      throw new Error(`inverse of ${path}`);
  }
  const { tolerances, notes, findings, renames } = outcome;
  return { outcome: 'edited', tolerances, notes, findings, renames, modes, tree: plain(tree) };
};
