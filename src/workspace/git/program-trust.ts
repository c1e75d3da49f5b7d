/**
 * Decides whether a program that git's configuration names is the user's: a trusted program outside every known workspace that runs nothing
 * of a workspace. What cannot be proved is not trusted (docs/decisions/0039 has the rules and why).
 */
import { homedir } from 'node:os';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { shellWord } from '../../shared/text.js';
import { sharedFault } from '../../system/hard-links.js';
import { workspaceHolding } from '../../system/known-workspaces.js';
import { isWithin, realOrNull, realOrSame } from '../../system/paths.js';
import { isProgramFile, ownPath, programFault } from '../../system/programs.js';
import { readShellLine, type SimpleCommand, type Word } from './shell-line.js';

/** How git starts what a setting names: a shell line, one program without arguments, or the name of a credential helper. */
export type ProgramKind = 'shell' | 'program' | 'helper';

/** Builtins of a shell that start nothing. Their arguments are text. */
const BUILTINS = new Set('echo printf test [ true false : exit return shift read'.split(' '));

/** These read and write text and start no program: their arguments are free. */
const TEXT_TOOLS = new Set(
  (
    'cat tr cut head tail rev tac uniq fold fmt nl expand unexpand iconv dos2unix unix2dos base64 gzip gunzip zcat bzip2 bunzip2 xz unxz ' +
    'od xxd hexdump strings grep egrep fgrep jq sha256sum md5sum sleep basename dirname'
  ).split(' '),
);
/** Options of jq that read its program or a module from a file. */
const JQ_FILE_OPTION = /^(?:-[a-zA-Z]*[fL]|--from-file|--library-path)/;
/** Commands of sed that start no program and write no file. */
const sedCommand = (group: number): string =>
  String.raw`(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)?(?:[dp]|s([/|,#@:!])(?:(?!\G)[^\\\n]|\\.)*\G(?:(?!\G)[^\\\n]|\\.)*\G[gipI\d]*)`.replaceAll(
    'G',
    String(group),
  );
const SED_WORD = new RegExp(`^(?:-[eEnrsuz]+|${sedCommand(1)}(?:;${sedCommand(2)})*)$`);

/** These do one thing, and their subcommands are no files. They load nothing from the current directory. */
const KNOWN_PROGRAMS = new Set(
  (
    'git-lfs git-crypt gh glab op aws gcloud az pass security secret-tool gpg gpg2 gpgsm gpg-agent ssh-add op-ssh-sign nbstripout mergiraf ' +
    'git-credential-manager git-credential-osxkeychain git-credential-libsecret git-credential-store git-credential-cache git-credential-oauth'
  ).split(' '),
);
const KNOWN_GIT_COMMANDS = /^(?:lfs|crypt|merge-file|credential-[\w.-]+)$/;

/** These run a script that is given by its path. */
const SCRIPT_RUNNERS =
  /^(?:sh|bash|dash|zsh|ksh|ash|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|php[\d.]*|lua[\d.]*|tclsh[\d.]*|Rscript)$/;
/** Options before the script that load nothing. */
const RUNNER_OPTION = /^-(?:[eux]|[IsSBEu]+|w)$/;

/** These run what they find in the current directory, or what their arguments name. */
const READS_DIRECTORY = new Set(
  (
    'make gmake bmake ninja cmake npm npx pnpm pnpx yarn bun bunx deno corepack rake bundle cargo rustup go gradle gradlew mvn ant sbt bazel ' +
    'bazelisk just task tox nox poetry pipenv pipx uv uvx pdm hatch rye pyenv mise asdf direnv nix nix-shell nix-build docker podman ' +
    'docker-compose vagrant composer dotnet msbuild mix rebar3 stack cabal dune opam prettier eslint biome pre-commit lefthook husky ' +
    'java kotlin scala swift julia R ghc runghc clojure clj tsx ts-node awk gawk mawk ed ex vi vim nvim emacs tar find xargs parallel env ' +
    'sudo doas su nice ionice nohup timeout setsid stdbuf time strace ltrace watch entr chroot unshare nsenter bwrap firejail flock script ' +
    'expect busybox toybox tmux screen git hg svn ssh rsync scp sftp socat nc ncat'
  ).split(' '),
);

const PLACEHOLDER = /^%[A-Za-z]$/;
const BARE_OPTION = /^(?:-|--|-[A-Za-z]\d*|--[a-z][a-z-]*|\d+)$/;
const OPTION_WITH_VALUE = /^--?[A-Za-z][\w-]*=(.*)$/s;
/** Settings of ssh that name a program or a file with more settings. */
const SSH_PROGRAM_SETTING = /command|include|match|provider|location|^ForwardX11/i;
const SSH_SETTING = /^([A-Za-z0-9]+)=([\w@%./:~+,-]*)$/;
const SSH_FLAG = /^-(?:[46AaCfGgKkMNnqsTtVvXxYy]+|[FSEilop]|p\d+)$/;
const SSH_OPTION_WITH_PATH = new Set(['-i', '-F', '-S', '-E']);

const unknown = (text: string): string =>
  `Emend cannot prove that ${shellWord(text)} starts nothing in a workspace`;

/** Returns why a path is, or may lead, into a workspace; null: it is absolute, or in the home, and elsewhere. */
const pathFault = (path: string): string | null => {
  const full = path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
  if (!isAbsolute(full))
    return `${shellWord(path)} is, or could become, a file in the current directory, which is a workspace`;
  const workspace = workspaceHolding(full);
  return workspace === null ? null : `${path} is in the workspace ${workspace}`;
};

/** Returns why Emend does not allow an argument of a program that it does not know. Options, placeholders and paths elsewhere are allowed. */
const argumentFault = ({ text, isLiteral }: Word): string | null => {
  if (!isLiteral) return unknown(text);
  if (PLACEHOLDER.test(text) || BARE_OPTION.test(text)) return null;
  const value = OPTION_WITH_VALUE.exec(text)?.[1];
  if (value === undefined) return pathFault(text);
  // The shell expands no `~` there.
  if (value.startsWith('~')) return unknown(text);
  return /^\d+$/.test(value) ? null : pathFault(value);
};

/** Returns why Emend does not allow an argument of a known program. Only a path into a workspace is not allowed. */
const knownArgumentFault = ({ text }: Word): string | null => {
  const value = OPTION_WITH_VALUE.exec(text)?.[1] ?? text;
  return value.includes('/') && !/^[\w+.-]+:\/\//.test(value) ? pathFault(value) : null;
};

const firstFault = (
  words: readonly Word[],
  faultOf: (word: Word) => string | null,
): string | null => {
  for (const word of words) {
    const fault = faultOf(word);
    if (fault !== null) return fault;
  }
  return null;
};

/** Finds a program as git's shell does. */
const locate = (name: string): { readonly path: string } | { readonly fault: string } => {
  const full = name.startsWith('~/') ? join(homedir(), name.slice(2)) : name;
  if (isAbsolute(full)) {
    const fault = programFault(full);
    return fault === null ? { path: full } : { fault: `${full} is not trusted: ${fault}` };
  }
  if (full.includes('/')) return { fault: pathFault(full) ?? unknown(full) };
  const path = ownPath()
    .split(delimiter)
    .map((directory) => join(directory, full))
    .find(isProgramFile);
  if (path === undefined)
    return { fault: `${shellWord(full)} is not on the PATH that Emend gives to git` };
  const fault = programFault(path);
  return fault === null ? { path } : { fault: `${path} is not trusted: ${fault}` };
};

function textToolFault(name: string, words: readonly Word[]): string | null {
  const isHarmless = ({ text, isLiteral }: Word): boolean => {
    if (name === 'jq') return !JQ_FILE_OPTION.test(text);
    return name !== 'sed' || (isLiteral && SED_WORD.test(text));
  };
  const other = words.find((word) => !isHarmless(word));
  return other === undefined ? null : unknown(`${name} ${other.text}`);
}

function gitFault(words: readonly Word[]): string | null {
  const [command, ...rest] = words;
  if (command?.isLiteral !== true || !KNOWN_GIT_COMMANDS.test(command.text))
    return unknown(`git ${command?.text ?? ''}`);
  return firstFault(rest, knownArgumentFault);
}

/** Returns why ssh may start something for its words: it takes flags, paths elsewhere and settings without a program. Git adds the host. */
function sshFault(words: readonly Word[]): string | null {
  for (const [index, word] of words.entries()) {
    const fault = sshWordFault(word, words[index - 1]?.text ?? '');
    if (fault !== null) return fault;
  }
  return null;
}

/** `before`: the word before it, which may be an option that takes this one as its value. */
function sshWordFault({ text, isLiteral }: Word, before: string): string | null {
  if (!isLiteral) return unknown(text);
  if (before === '-o') return sshSettingFault(text);
  if (/^-o./.test(text)) return sshSettingFault(text.slice(2));
  if (SSH_OPTION_WITH_PATH.has(before)) return pathFault(text);
  if (/^-[pl]$/.test(before))
    return /^[\w.-]+$/.test(text) ? null : unknown(`ssh ${before} ${text}`);
  return SSH_FLAG.test(text) ? null : unknown(`ssh ${text}`);
}

function sshSettingFault(setting: string): string | null {
  const [, name = '', value = ''] = SSH_SETTING.exec(setting) ?? [];
  if (name === '' || SSH_PROGRAM_SETTING.test(name)) return unknown(`ssh -o ${setting}`);
  return value.includes('/') && value !== '/dev/null' ? pathFault(value) : null;
}

/** Returns why a script runner may run something of a workspace: it takes options that load nothing, then a script by its path. */
function scriptFault(name: string, words: readonly Word[]): string | null {
  const optionCount = words.findIndex(({ text }) => !RUNNER_OPTION.test(text));
  if (optionCount < 0) return unknown(name);
  const [script, ...scriptArguments] = words.slice(optionCount);
  if (script?.isLiteral !== true) return unknown(name);
  const [value, ...more] = scriptArguments;
  if (value?.isLiteral === true) {
    if (script.text === '-m' && isIsolatedPython(name, words.slice(0, optionCount)))
      return firstFault(more, argumentFault);
    if (script.text === '-c' && name.endsWith('sh'))
      return lineFault(value.text) ?? firstFault(more, argumentFault);
  }
  return scriptFileFault(name, script.text) ?? firstFault(scriptArguments, argumentFault);
}

/** Returns whether a Python looks for modules in its own directories only, as it does with `-I`. */
const isIsolatedPython = (name: string, options: readonly Word[]): boolean =>
  /^(?:python|pypy)/.test(name) && options.some(({ text }) => text.includes('I'));

function scriptFileFault(name: string, script: string): string | null {
  if (!isAbsolute(script) && !script.startsWith('~/')) return unknown(`${name} ${script}`);
  const located = locate(script);
  return 'fault' in located ? located.fault : null;
}

function commandFault({ words }: SimpleCommand, functions: ReadonlySet<string>): string | null {
  const [program, ...rest] = words;
  if (program === undefined) return null;
  if (!program.isLiteral) return unknown(program.text);
  if (functions.has(program.text) || BUILTINS.has(program.text)) return null;
  const located = locate(program.text);
  if ('fault' in located) return located.fault;
  const name = basename(program.text);
  if (TEXT_TOOLS.has(name) || name === 'sed') return textToolFault(name, rest);
  if (KNOWN_PROGRAMS.has(name)) return firstFault(rest, knownArgumentFault);
  if (name === 'git') return gitFault(rest);
  if (name === 'ssh') return sshFault(rest);
  const names = [name, basename(realOrSame(located.path))];
  const runner = names.find((candidate) => SCRIPT_RUNNERS.test(candidate));
  if (runner !== undefined) return scriptFault(runner, rest);
  const reader = names.find((candidate) => READS_DIRECTORY.has(candidate));
  if (reader !== undefined) return `${reader} runs what it finds in the current directory`;
  return firstFault(rest, argumentFault);
}

/** Returns why a shell line is not the user's; null: all programs that it starts are. */
function lineFault(line: string): string | null {
  const read = readShellLine(line);
  if (read === null) return unknown(line);
  for (const command of read.commands) {
    const fault = commandFault(command, read.functions);
    if (fault !== null) return fault;
  }
  return null;
}

/** A helper that begins with `!` is a shell line, an absolute one a program with arguments, any other the name of a `git credential-…`. */
const helperFault = (value: string): string | null => {
  if (value.startsWith('!')) return lineFault(value.slice(1));
  return lineFault(isAbsolute(value) ? value : `git credential-${value}`);
};

/** Returns why what a setting names is not the user's own program, as a clause; null: it is. An empty value names nothing. */
export function valueFault(value: string, kind: ProgramKind): string | null {
  if (value.trim() === '') return null;
  if (kind === 'shell') return lineFault(value);
  if (kind === 'helper') return helperFault(value);
  // Git's versions differ in whether they expand it here.
  if (value.startsWith('~')) return unknown(value);
  const located = locate(value);
  return 'fault' in located ? located.fault : null;
}

/** Git prints a file of its own as a path in the git directory. Commands can write no such file, if no link leads out of it. */
const isGitFile = (file: string, gitDirs: readonly string[]): boolean => {
  if (!gitDirs.some((dir) => isWithin(file, dir))) return false;
  return realOrNull(file) === file;
};

/** Returns why a file of settings is not the user's, as a clause; null: it is outside every workspace, or in the git directory, by all its names. */
export function originFault(file: string, gitDirs: readonly string[]): string | null {
  const workspace = isGitFile(file, gitDirs) ? null : workspaceHolding(file);
  if (workspace !== null) return `the file is in the workspace ${workspace}`;
  const shared = sharedFault(file);
  return shared === null ? null : `of that file: ${shared}`;
}
