/** Every setting that git documents and that could name a program is known: Emend looks at it, or it starts nothing in Emend's calls. */
import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { namedPrograms } from '../../../src/workspace/git/program-guard.js';

/** A name with one of these words may belong to a program. */
const SUSPICIOUS =
  /command|program|driver|\.clean$|smudge|\.process$|textconv|helper|hook|gitproxy|editor|pager|askpass|cmd|\.vcs$|external|tool|exec|filter|pack$|tunnel|browser|\.update$|alias|fsmonitor/i;

/** Names that git 2.55 documents (Documentation/config) and that `git help --config` of git 2.39 does not print. */
const NEWER = [
  'alias.*.command',
  'diff.trustExitCode',
  'filter.<driver>.process',
  'gc.recentObjectsHook',
  'gc.repackFilter',
  'gc.repackFilterTo',
  'hook.<event>.enabled',
  'hook.<event>.jobs',
  'hook.<friendly-name>.command',
  'hook.<friendly-name>.enabled',
  'hook.<friendly-name>.event',
  'hook.<friendly-name>.parallel',
  'hook.jobs',
  'sendemail.headerCmd',
  'trailer.<key-alias>.cmd',
  'trailer.<key-alias>.command',
];

/** Settings that start nothing in Emend's calls, by the reason. Decision 39 has the long form. */
const STARTS_NOTHING: Readonly<Record<string, RegExp>> = {
  'each call replaces it':
    /^(?:core\.(?:hookspath|editor|pager|fsmonitor)$|sequence\.editor|pager\.)/,
  'only commands use it that Emend does not call':
    /^(?:alias\.|browser\.|man\.|guitool\.|difftool\.|mergetool\.|sendemail\.|instaweb\.|imap\.|web\.|help\.|interactive\.|submodule\.<name>\.update$|gitcvs\.|notes\.|rebase\.|gui\.|completion\.)/,
  'GIT_ALLOW_PROTOCOL comes first': /^remote\.<name>\.vcs$/,
  'it names a tool of difftool or mergetool': /^(?:diff|merge)\.(?:gui)?tool$/,
  'it is a switch, a number, a pattern or a name':
    /^(?:advice\.|fsmonitor\.|color\.|column\.|core\.fsmonitorhookversion|clone\.filtersubmodules|commitgraph\.|diff\.<driver>\.(?:binary|cachetextconv|wordregex|xfuncname|trustexitcode)|diff\.trustexitcode|filter\.<driver>\.required|gc\.repackfilter(?:to)?|hook\.(?:jobs|.*\.(?:enabled|jobs|event|parallel))|merge\.<driver>\.(?:name|recursive)|remote\.<name>\.partialclonefilter|trailer\.<key-alias>\.(?:key|where|ifexists|ifmissing)|uploadpack\.allowfilter|uploadpackfilter\.|credential\..*(?:interactive|usehttppath))/,
};

const documented = execFileSync('git', ['help', '--config'], { encoding: 'utf8' })
  .split('\n')
  .filter((line) => /^[A-Za-z][\w-]*\./.test(line));
const names = [...new Set([...documented, ...NEWER])].filter((name) => SUSPICIOUS.test(name));

const isLookedAt = (name: string): boolean => {
  const [section = '', ...rest] = name.replace(/<[^>]*>|\*/g, 'x').split('.');
  const variable = rest.pop() ?? '';
  const key = [section.toLowerCase(), ...rest, variable.toLowerCase()].join('.');
  const setting = { key, value: './tools/program', origin: null, scope: 'local' };
  return namedPrograms({ settings: [setting], gitDirs: [] }).length > 0;
};
const reasonsFor = (name: string): string[] =>
  Object.entries(STARTS_NOTHING).flatMap(([reason, pattern]) =>
    pattern.test(name.toLowerCase()) ? [reason] : [],
  );

test('the list of settings has what it should have', () => {
  expect(names.length).toBeGreaterThan(80);
  expect(names).toEqual(expect.arrayContaining(['core.sshCommand', 'gpg.program']));
});

test.each(names)('%s is looked at, or starts nothing', (name) => {
  expect([isLookedAt(name), reasonsFor(name).length]).toEqual(
    isLookedAt(name) ? [true, 0] : [false, 1],
  );
});
