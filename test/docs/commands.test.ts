/** Every command in README and docs is run by a test or listed with the reason why not; those inside sentences exist. And their English. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from '@jest/globals';
import { buildProgram } from '../../src/cli/program.js';
import { jobFlags } from '../../src/cli/sentence.js';
import { fakeIo } from '../cli/io.js';
import { docCommands, DOCUMENTS, LISTED, runnerOf } from './commands.js';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>;
};

const COMMAND = /^(\$ )?([A-Z_]+=\S+ )?(emend|npm|npx|docker|temporal|git|ollama) [a-z-]/;

describe('commands in blocks', () => {
  test('each has somebody who runs it, or a reason why nobody does', () => {
    const commands = docCommands();
    expect(commands.length).toBeGreaterThan(60);
    const unlisted = commands.filter((each) => runnerOf(each) === undefined);
    expect(unlisted.map(({ file, line, command }) => `${file}:${line}: ${command}`)).toEqual([]);
    expect(runnerOf({ file: 'README.md', command: 'emend fly' })).toBeUndefined();
  });

  test('what is listed stands somewhere, and whoever shall run it is there', () => {
    const commands = docCommands();
    const shown = commands.map(({ command }) => command.split('\n')[0]);
    expect(LISTED.filter((command) => !shown.includes(command))).toEqual([]);
    const by = commands.flatMap((each) => {
      const runner = runnerOf(each);
      return runner !== undefined && 'by' in runner ? [runner.by] : [];
    });
    expect(by.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('none stands in a block of another kind, where nobody would look for it', () => {
    const strays = DOCUMENTS.flatMap((file) => {
      let inside: string | null = null;
      return readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => {
          const fence = /^```(\w*)/.exec(line)?.[1];
          if (fence !== undefined) inside = inside === null ? fence : null;
          return inside !== null && inside !== 'bash' && COMMAND.test(line);
        })
        .map((line) => `${file}: ${line}`);
    });
    expect(strays).toEqual([]);
  });
});

/** The command that the words name, and what is left of them. */
const find = (program: Command, words: readonly string[]): Command | null => {
  const [first = '', ...rest] = words;
  const found = program.commands.find((each) => each.name() === first);
  if (found === undefined) return null;
  return found.commands.length > 0 && rest.length > 0 && /^[a-z]+$/.test(rest[0] ?? '')
    ? find(found, rest)
    : found;
};

describe('commands in sentences', () => {
  const said = DOCUMENTS.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/`((?:emend|npm run) [^`\n]+)`/g)].map(([, text]) => ({
      file,
      text: (text ?? '').split(' && ')[0] ?? '',
    })),
  );

  test('those of emend name a command and only flags that it has', () => {
    const program = buildProgram(fakeIo(), () => undefined, jobFlags());
    const wrong = said
      .filter(({ text }) => text.startsWith('emend '))
      .filter(({ text }) => {
        // `pause|resume PLAN`: the first stands for all.
        const words = text
          .replace(/^emend /, '')
          .replaceAll(/\|[\w|]+/g, '')
          .split(' ');
        if (words[0] === 'help' || words[0]?.startsWith('--') === true) return false;
        const command = find(program, words);
        const flags = (text.match(/(?<= )--[a-z-]+/g) ?? []).filter((flag) => flag !== '--help');
        return (
          command === null ||
          flags.some((flag) => !command.options.some(({ long }) => long === flag))
        );
      });
    expect(wrong).toEqual([]);
    expect(find(program, ['plan', 'check'])?.name()).toBe('check');
    expect(find(program, ['fly'])).toBeNull();
  });

  test('those of npm are scripts of package.json', () => {
    const wrong = said.flatMap(({ file, text }) => {
      const name = /^npm run (?:--silent )?([\w:-]+)/.exec(text)?.[1];
      return name === undefined || name in scripts ? [] : [`${file}: ${text}`];
    });
    expect(wrong).toEqual([]);
  });
});

describe('the English of documents and messages', () => {
  // Translated idioms that were here once, each with the words that took its place.
  const IDIOMS: readonly (readonly [RegExp, string])[] = [
    [/\bmend(s|ed)?\b/i, 'fix'],
    [/\b(was|were|is|are|be) told\b/i, 'reported, shown'],
    [/\bleft alone\b/i, 'skipped'],
    [/\bgo(es)? on\b/i, 'continue'],
    [/\banew\b/i, 'again'],
    [/\bmeanwhile\b/i, 'in the meantime'],
    [/\b(but for|all the same)\b/i, 'except, anyway'],
    [/\bstands? (nowhere|in several|there)\b/i, 'occurs, is'],
    [/\b(takes? back|taken back|thrown away)\b/i, 'revert, discard'],
    [/\b(nobody|somebody)\b/i, 'no one, someone'],
    [/\bagain and again\b/i, 'repeatable, keeps failing'],
  ];
  /** `place: the line`, of each line that holds one. */
  const found = (place: string, text: string): readonly string[] =>
    text.split('\n').flatMap((line, at) => {
      const idiom = IDIOMS.find(([words]) => words.test(line));
      return idiom === undefined
        ? []
        : [`${place}:${at + 1}: ${line.trim().slice(0, 100)} (${idiom[1]})`];
    });
  /** Records of what was measured, asked and decided keep the words of their day. */
  const RECORDS = /^docs\/(decisions\/|issue-|coverage|measures|library|mcp|reference)/;
  /** Prompts are measured with a model before they change. */
  const PROMPTS = /^src\/(model\/prompts\/|activities\/plan\/phase-job|activities\/frame\/secrets)/;

  test('documents', () => {
    expect(
      DOCUMENTS.filter((file) => !RECORDS.test(file)).flatMap((file) =>
        found(file, readFileSync(file, 'utf8')),
      ),
    ).toEqual([]);
  });

  test('strings in the sources', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .map((name) => `src/${name}`)
      .filter((file) => /[.]tsx?$/.test(file) && !PROMPTS.test(file));
    const strings = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^(?! *(?:\/\/|\/?\*)).*$/gm)].flatMap(([line]) =>
        [...line.matchAll(/(['"`])((?:(?!\1)[^\\]|\\.)+)\1/g)].flatMap(([, , text = '']) =>
          found(file, text),
        ),
      ),
    );
    expect(strings).toEqual([]);
    // The check can fail.
    expect(found('x', 'a line that was told\nanother')).toEqual([
      'x:1: a line that was told (reported, shown)',
    ]);
  });
});
