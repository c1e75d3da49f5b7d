/**
 * Keeps git from running a program that its configuration names and that is not the user's. Such a setting is replaced, for one call, by a
 * program that does not exist: git fails if it needs it, and no byte is changed. Settings of a remote that cannot be replaced so are looked
 * at before the call (docs/decisions/0039).
 */
import { problem, type Problem } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { readGivenSync } from '../../system/given-file.js';
import type { Result } from '../ports.js';
import { originFault, valueFault, type ProgramKind } from './program-trust.js';
import type { GitSettings, GitVariables, Setting } from './read-settings.js';

const SHOWN_CHARS = 200; // bound: Characters of a setting's value that a message shows.
const SETTINGS_BYTES = 1024 ** 2; // bound: Size of a file of settings in which a message names the line.

/** `remote`: only a call that speaks to a remote, or a program that git starts for its files, such as git-lfs, uses it. */
type Use = 'files' | 'remote';
interface Named {
  readonly setting: Setting;
  readonly kind: ProgramKind;
  readonly use: Use;
}
/** A setting that names a program which is not the user's. */
export interface Untrusted extends Named {
  /** A clause that completes "Emend does not run it: …". */
  readonly reason: string;
}

/**
 * Settings that name what git runs (`git help --config`). Not among them: what Emend's git never runs, as an option or variable of every
 * call says (hooks, the monitor, editors, pagers), and what only commands use that Emend does not call (aliases, tools, mail).
 */
const PROGRAMS: readonly (readonly [key: RegExp, kind: ProgramKind, use: Use])[] = [
  [/^filter\..*\.(?:clean|smudge|process)$/s, 'shell', 'files'],
  [/^merge\..*\.driver$/s, 'shell', 'files'],
  [/^diff\..*\.(?:textconv|command)$/s, 'shell', 'files'],
  [/^diff\.external$/, 'shell', 'files'],
  [/^trailer\..*\.(?:command|cmd)$/s, 'shell', 'files'],
  [/^hook\..*\.command$/s, 'shell', 'files'],
  [/^gpg\.(?:.*\.)?program$/s, 'program', 'files'],
  [/^gpg\.ssh\.defaultkeycommand$/, 'shell', 'files'],
  [/^core\.askpass$/, 'program', 'files'],
  [/^lfs\.extension\..*\.(?:clean|smudge)$/s, 'shell', 'files'],
  [/^lfs\.customtransfer\..*\.path$/s, 'program', 'files'],
  [/^core\.alternaterefscommand$/, 'shell', 'files'],
  [/^core\.sshcommand$/, 'shell', 'remote'],
  [/^core\.gitproxy$/, 'program', 'remote'],
  [/^credential\.(?:.*\.)?helper$/s, 'helper', 'remote'],
  [/^remote\..*\.(?:uploadpack|receivepack)$/s, 'shell', 'remote'],
  [/^uploadpack\.packobjectshook$/, 'shell', 'remote'],
  // After a fetch git may remove old objects, and runs every value of this one.
  [/^gc\.recentobjectshook$/, 'shell', 'remote'],
];
/** Git uses every value of these, or the first; of all others only the last. */
const LISTS =
  /^credential\.|^core\.gitproxy$|^gc\.recentobjectshook$|\.(?:uploadpack|receivepack)$/;

const asNamed = (setting: Setting): Named | null => {
  const found = PROGRAMS.find(([key]) => key.test(setting.key));
  if (found === undefined) return null;
  const [, kind, use] = found;
  // `core.gitProxy` may end in ` for DOMAIN`.
  const value =
    setting.key === 'core.gitproxy' ? setting.value.replace(/ for \S+$/, '') : setting.value;
  return { setting: { ...setting, value }, kind, use };
};

/** Variables that name a program, as if they were settings. */
const fromVariables = (env: GitVariables): Named[] =>
  (
    [
      ['GIT_SSH_COMMAND', 'shell'],
      ['GIT_SSH', 'program'],
    ] as const
  ).flatMap(([key, kind]) => {
    const value = env[key];
    if (value === undefined) return [];
    return [
      { setting: { key, value, origin: null, scope: 'variable' }, kind, use: 'remote' as const },
    ];
  });

/** Returns the settings that name a program and count for git. */
export function namedPrograms({ settings }: GitSettings, env: GitVariables = {}): readonly Named[] {
  const named = settings.flatMap((setting) => asNamed(setting) ?? []);
  const last = new Map(named.map((program) => [program.setting.key, program]));
  const counting = named.filter(
    (program) => LISTS.test(program.setting.key) || last.get(program.setting.key) === program,
  );
  return [...counting, ...fromVariables(env)];
}

/** Returns those of the named programs that are not the user's. */
export function untrustedPrograms(git: GitSettings, env: GitVariables = {}): readonly Untrusted[] {
  return namedPrograms(git, env).flatMap((named) => {
    const { setting, kind } = named;
    const origin = setting.origin === null ? null : originFault(setting.origin, git.gitDirs);
    const reason = setting.value.trim() === '' ? null : (origin ?? valueFault(setting.value, kind));
    return reason === null ? [] : [{ ...named, reason }];
  });
}

// Messages about such a setting.

const SECTION = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/;
const VARIABLE = /^\s*([A-Za-z][\w-]*)\s*(?:=|$)/;

/** Returns the line at which a file sets a key, for a message only; null: the line was not found. */
function lineOf(file: string, key: string): number | null {
  let text: string;
  try {
    text = readGivenSync(file, SETTINGS_BYTES).toString('utf8');
  } catch {
    return null;
  }
  let section = '';
  let found: number | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const [header = '', name, subsection] = SECTION.exec(line) ?? [];
    if (name !== undefined)
      section = [name.toLowerCase(), subsection?.replace(/\\(.)/g, '$1')].filter(Boolean).join('.');
    const variable = VARIABLE.exec(line.slice(header.length))?.[1];
    if (variable !== undefined && `${section}.${variable.toLowerCase()}` === key) found = index + 1;
  }
  return found;
}

function placeOf({ key, origin, scope }: Setting): string {
  if (origin === null) return scope === 'variable' ? 'a variable' : 'a variable or an option';
  const line = lineOf(origin, key);
  return line === null ? origin : `${origin}:${line}`;
}

/** Returns what to do. A setting of the repository comes before one of the user or the system. */
function remedy({ setting: { key, value, origin, scope }, kind }: Untrusted, cwd: string): string {
  if (origin === null)
    return `Set it to a program outside every workspace, by its absolute path, and start the worker again.`;
  const own = valueFault(value, kind) === null ? value : '/ABSOLUTE/PATH/OUTSIDE/EVERY/WORKSPACE';
  const where = scope === 'worktree' ? ' --worktree' : '';
  return `Name a program by its absolute path outside every workspace: git -C ${shellWord(cwd)} config${where} ${shellWord(key)} ${shellWord(own)}. Then try again.`;
}

/** The problem of a call that would run a program which is not the user's. */
export function untrustedProblem(untrusted: Untrusted, cwd: string, command: string): Problem {
  const { setting, reason } = untrusted;
  const value = setting.value.slice(0, SHOWN_CHARS);
  return problem(
    'git_program',
    `git ${command} in ${cwd} needs ${setting.key} (${placeOf(setting)}), which is \`${value}\`. Emend does not run it: ${reason}.`,
    remedy(untrusted, cwd),
  );
}

// A call of git without such programs.

const REFUSED = '/dev/null/emend-refused/';
const MENTIONED = new RegExp(`${REFUSED}(\\d+)`);

/** A setting and the value that it has for one call. */
export type Replaced = readonly [key: string, value: string];

export interface Guard {
  readonly settings: readonly Replaced[];
  /** The same as options of git, which come after all others. */
  readonly options: readonly string[];
  readonly env: GitVariables;
  /** Returns the problem if git reports that it tried to start a refused program. */
  readonly refusal: (output: string) => Problem | null;
}
export interface GuardedCall {
  readonly cwd: string;
  /** Name of git's command. */
  readonly command: string;
  readonly env: GitVariables;
}

/** Git's commands that speak to a remote. */
export const SPEAKS_TO_REMOTE = /^(?:push|fetch|ls-remote|clone)$/;
/**
 * These compare files, also ones that the run does not change, and store none. A file whose filter fails counts as changed, or is compared
 * again later.
 */
const COMPARES = /^(?:status|update-index)$/;

const FILTER = /^(filter\..*)\.(clean|smudge|process)$/s;

/** A filter that fails must stop git, or the unfiltered bytes would be used; one that the user did not name stays none. */
function filterSettings(
  untrusted: readonly Untrusted[],
  { settings }: GitSettings,
  command: string,
): Replaced[] {
  const filters = new Set(untrusted.flatMap(({ setting }) => FILTER.exec(setting.key)?.[1] ?? []));
  return [...filters].flatMap((filter): Replaced[] => {
    const isNamed = (name: string) => settings.some(({ key }) => key === `${filter}.${name}`);
    const missing = ['clean', 'smudge'].filter((name) => !isNamed(name));
    // A required filter without one of them fails already.
    const added = isNamed('required')
      ? []
      : missing.map((name): Replaced => [`${filter}.${name}`, 'cat']);
    return [...added, [`${filter}.required`, String(!COMPARES.test(command))]];
  });
}

function replacement({ setting: { key }, use }: Untrusted, index: number): Replaced[] {
  if (key.startsWith('credential.')) return [['credential.helper', '']];
  if (use === 'remote' && key !== 'core.sshcommand') return [];
  return [[key, `${REFUSED}${index}`]];
}

/** The name of a subsection may have an `=`, where `-c` would end the key. */
function optionsFor(settings: readonly Replaced[]): Pick<Guard, 'options' | 'env'> {
  const env: Record<string, string> = {};
  const options = settings.flatMap(([key, value], index) => {
    if (!key.includes('=')) return ['-c', `${key}=${value}`];
    const name = `EMEND_SETTING_${index}`;
    env[name] = value;
    return [`--config-env=${key}=${name}`];
  });
  return { options, env };
}

/** Returns what a call must be given so that git runs no program of a workspace, or the problem of a remote call that would. */
export function guardOf(git: GitSettings, { cwd, command, env }: GuardedCall): Result<Guard> {
  const untrusted = untrustedPrograms(git, env);
  const remote = untrusted.find(({ use }) => use === 'remote');
  if (remote !== undefined && SPEAKS_TO_REMOTE.test(command))
    return { ok: false, problem: untrustedProblem(remote, cwd, command) };
  const settings = [...untrusted.flatMap(replacement), ...filterSettings(untrusted, git, command)];
  const { options, env: added } = optionsFor(settings);
  // Of ssh for a program that git starts, such as git-lfs.
  const variableIndex = untrusted.findIndex(({ setting }) => setting.scope === 'variable');
  const ssh = variableIndex < 0 ? {} : { GIT_SSH_COMMAND: `${REFUSED}${variableIndex}` };
  const refusal = (output: string): Problem | null => {
    const named = COMPARES.test(command) ? undefined : MENTIONED.exec(output)?.[1];
    const refused = named === undefined ? undefined : untrusted[Number(named)];
    return refused === undefined ? null : untrustedProblem(refused, cwd, command);
  };
  return { ok: true, value: { settings, options, env: { ...added, ...ssh }, refusal } };
}
