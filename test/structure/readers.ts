/** Every reader of a text that others write, and the shapes of text that readers are tried with. */
import { readTarget } from '../../src/documents/source/network-targets.js';
import { tokensIn } from '../../src/shared/tokens.js';
import { redact } from '../../src/system/environment.js';
import { mountsIn } from '../../src/system/mount-table.js';
import { findSecrets } from '../../src/system/secrets.js';
import { looksSecret } from '../../src/workspace/secret-files.js';
import { readShellLine } from '../../src/workspace/git/shell-line.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  parseConfig,
  parseJob,
  parsePolicy,
  namedByScripts,
} from '../../src/documents/job/index.js';
import { parseLimitSetting } from '../../src/documents/job/limits.js';
import { isRelativeWrite } from '../../src/documents/job/write-paths.js';
import { anchorsOf } from '../../src/documents/plan/anchors.js';
import { hasAnchorLinks } from '../../src/documents/plan/anchor-links.js';
import { linksOf, withLines } from '../../src/documents/plan/change.js';
import { commitInSummary, planOfSummary } from '../../src/documents/plan/partial-summary.js';
import { copiesFor, definedIn } from '../../src/documents/plan/link-definitions.js';
import { down, isRelative, retarget, up } from '../../src/documents/plan/links.js';
import { readMarkdown } from '../../src/documents/plan/markdown.js';
import { outlineOf, readDocument } from '../../src/documents/plan/plan-document.js';
import { readPlanFront } from '../../src/documents/plan/plan-front.js';
import { taskLines } from '../../src/documents/plan/task-lines.js';
import { parsePlan } from '../../src/documents/plan/parse-plan.js';
import { readPartFile } from '../../src/documents/plan/part-file.js';
import { filesIn, scoreOf } from '../../src/documents/plan/score.js';
import { sectionIn, thresholdsIn } from '../../src/documents/plan/thresholds.js';
import { taskCommands, testingProtocols } from '../../src/documents/plan/test-commands.js';
import { decodeLink, resolveLink } from '../../src/documents/plan/plan-paths.js';
import { readTree, untick } from '../../src/documents/plan/plan-tree.js';
import { lineIndex } from '../../src/documents/plan/text-spans.js';
import { filesToMake } from '../../src/documents/plan/unfinished.js';
import { claimedUnfinished, readUnfinished } from '../../src/shared/unfinished.js';
import { checkFilePath } from '../../src/documents/source/checked-paths.js';
import { firstHeading } from '../../src/documents/source/first-heading.js';
import { readYaml } from '../../src/documents/source/yaml.js';
import { splitFrontMatter } from '../../src/documents/source/front-matter.js';
import { discoverTests } from '../../src/workspace/commands/index.js';
import {
  failedTests,
  failingTests,
  classifyFailure,
} from '../../src/workspace/commands/classify.js';
import { runnerOf } from '../../src/workspace/commands/runners.js';
import { eolsForNewFiles, hintedPaths } from '../../src/workspace/files/index.js';
import { cutLine } from '../../src/workspace/finding/signatures.js';
import { matcherOf, partsOf, stemOf, termsOf } from '../../src/workspace/finding/words.js';
import { stripSpace } from '../../src/workspace/git/commit-hooks.js';
import {
  arrangeTestOutput,
  parseTestOutput,
  wholeTestOutput,
} from '../../src/workspace/test-output/index.js';
import { indentOf, outputText } from '../../src/workspace/test-output/lines.js';
import {
  isAssertion,
  isError,
  isProgramError,
  isTelling,
} from '../../src/workspace/test-output/error-lines.js';

const KNOWN = { A_TOKEN: 'Zq8rT2vLk0Xn', B_TOKEN: '%%%%%%%%%%%%', C_TOKEN: `a'b"c\\d&e` };

export type Reader = (text: string) => unknown;

/** Exported functions whose first parameter is a text, but which need no row of their own, and why. */
export const WITHOUT_ROW: Readonly<Record<string, string>> = {
  addTasks: 'it is given what parsePlan has read',
  captureOwn: 'the name of a program',
  commitAt: 'the name of a commit',
  fieldsOf: 'readDocument is its row',
  findProgram: 'the name of a program',
  findPrograms: 'the name of a program',
  hidesSecret: 'one search for one word',
  jsonOf: 'JSON.parse',
  linesOfTasks: 'it is given what parsePlan has read',
  personLines: 'it is given what readPartFile has read',
  programPath: 'the name of a program',
  readHtml: 'readMarkdown is its row',
  readMap: 'parseConfig, parseJob and parsePolicy are its rows',
  renameTask: 'it is given what parsePlan has read',
  rollbackName: 'the name of a record',
  signText: 'it gives the text to ssh-keygen',
  splice: 'it is given places that a reader has found',
  unsealed: 'JSON.parse, and one hash',
  verifyText: 'it gives the text to ssh-keygen',
  withRevision: 'parsePlan and outlineOf are its rows',
};

const PHASE = '# A plan\n\n## Implementation Phases\n\n### Phase 1: A\n\n';
const HEADING = {
  kind: 'phase',
  number: 1,
  name: 'A',
  level: 1,
  markers: [],
  from: 0,
  to: 0,
  line: 1,
  words: { from: 0, to: 0 },
  text: 'Phase 1: A',
} as const;
const whole = (text: string) => ({ from: 0, to: text.length });
const oneLine = (text: string): string => text.replaceAll('\n', ' ');

/** Gives the reader a directory that has one file. */
const inFile =
  (name: string, read: (root: string) => Promise<unknown>): Reader =>
  async (text) => {
    const root = mkdtempSync(join(tmpdir(), 'emend-readers-'));
    try {
      writeFileSync(join(root, name), text);
      return await read(root);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  };

/** By the reader's name, and what of its input the text is if there are several. */
export const READERS: Readonly<Record<string, Reader>> = {
  parsePlan: (text) => parsePlan(`${PHASE}${text}\n`, 'plan.md'),
  'parsePlan, all of it': (text) => parsePlan(text, 'plan.md'),
  'parsePlan, front matter': (text) => parsePlan(`---\n${text}\n---\n${PHASE}`, 'plan.md'),
  'parsePlan, a heading': (text) => parsePlan(`${PHASE.trim()}${oneLine(text)}\n`, 'plan.md'),
  readPartFile: (text) => readPartFile(`# Phase 1: A\n\n${text}`, 'p.md', 'p.md', HEADING),
  readTree: (text) =>
    readTree({ stem: 'p', inFolder: false }, () => ({ text: `${PHASE}${text}\n` }), String),
  anchorsOf: (text) => anchorsOf(text, 0, whole(text), true),
  copiesFor: (text) => copiesFor(new Map([['p.md', text]]), 'p.md', whole(text), []),
  definedIn: (text) => definedIn(`${text}\n[a]: b\n`),
  linksOf,
  outlineOf,
  readMarkdown: (text) => readMarkdown(text),
  readDocument: (text) => readDocument(text, 'plan.md'),
  readPlanFront: (text) => readPlanFront(text, 'plan.md'),
  'readPlanFront, front matter': (text) => readPlanFront(`---\n${text}\n---\n`, 'plan.md'),
  readTarget: (text) => readTarget(text),
  readShellLine: (text) => readShellLine(text),
  isRelative,
  retarget: (text) => retarget('a/p.md', text, { from: 'a/b.md', to: 'a/c.md', kept: 'a/' }),
  down: (text) => down(text, { folder: 'a', self: null }),
  up: (text) => up(text, { folder: 'a', self: null }),
  hasAnchorLinks,
  taskLines: (text) => taskLines(text, whole(text)),
  withLines: (text) => withLines(text, ['a'], '\n'),
  planOfSummary,
  commitInSummary: (text) => commitInSummary(text, 1),
  filesIn,
  scoreOf: (text) => scoreOf('A', [{ text, opaque: [] }], 0, 'plan.md'),
  sectionIn: (text) => sectionIn(text, 'Testing Protocols'),
  thresholdsIn: (text) => thresholdsIn(`# Adaptive Planning Configuration\n\n${text}`),
  taskCommands: (text) => taskCommands([text]),
  testingProtocols: (text) => testingProtocols(`# Testing Protocols\n\n${text}`),
  'testingProtocols, an item': (text) =>
    testingProtocols(`# Testing Protocols\n\n- ${oneLine(text)}\n`),
  decodeLink,
  resolveLink: (text) => resolveLink('a/b', text),
  untick,
  lineIndex,
  claimedUnfinished,
  readUnfinished,
  filesToMake,
  readYaml: (text) => readYaml(text, 0),
  splitFrontMatter,
  'splitFrontMatter, within': (text) => splitFrontMatter(`---\n${text}\n---\nbody`),
  firstHeading,
  parseConfig,
  'parseConfig, a command': (text) => parseConfig(`test: ${JSON.stringify(text)}\n`),
  'parseConfig, a path': (text) => parseConfig(`rules: [${JSON.stringify(text)}]\n`),
  'parseConfig, a pattern': (text) => parseConfig(`protected: [${JSON.stringify(text)}]\n`),
  'parseConfig, a path to write': (text) =>
    parseConfig(`sandbox: { write: [${JSON.stringify(text)}] }\n`),
  parseJob: (text) => parseJob(text, 'job.md'),
  'parseJob, front matter': (text) => parseJob(`---\n${text}\n---\n# A\n`, 'job.md'),
  'parseJob, a path': (text) =>
    parseJob(`---\ntarget_files: [${JSON.stringify(text)}]\n---\n# A\n`, 'job.md'),
  'parseJob, a command': (text) =>
    parseJob(`---\ntest: ${JSON.stringify(text)}\n---\n# A\n`, 'job.md'),
  'parseJob, instructions': (text) => parseJob(`---\ntitle: A\n---\n${text}`, 'job.md'),
  parsePolicy: (text) => parsePolicy(text, 'review.yaml'),
  'parsePolicy, a pattern': (text) =>
    parsePolicy(`rules:\n  - approve: [${JSON.stringify(text)}]\n`, 'review.yaml'),
  parseLimitSetting: (text) => parseLimitSetting(text, 'run'),
  checkFilePath,
  isRelativeWrite,
  namedByScripts: (text) => namedByScripts('package.json', text),
  'namedByScripts, a script': (text) =>
    namedByScripts('a/package.json', JSON.stringify({ scripts: { test: text } })),
  'namedByScripts, a path': (text) =>
    namedByScripts(
      'a/package.json',
      JSON.stringify({ scripts: { test: `node ${oneLine(text)}` } }),
    ),
  'discoverTests, CLAUDE.md': inFile('CLAUDE.md', discoverTests),
  'discoverTests, package.json': inFile('package.json', discoverTests),
  'discoverTests, Makefile': inFile('Makefile', discoverTests),
  'discoverTests, pyproject.toml': inFile('pyproject.toml', discoverTests),
  'discoverTests, setup.cfg': inFile('setup.cfg', discoverTests),
  'eolsForNewFiles, .editorconfig': inFile('.editorconfig', (root) =>
    eolsForNewFiles(root, ['a.ts'], []),
  ),
  'eolsForNewFiles, .gitattributes': inFile('.gitattributes', (root) =>
    eolsForNewFiles(root, ['a.ts'], []),
  ),
  hintedPaths: (text) => hintedPaths(text, ['a', 'a/b.ts', 'src/index.ts']),
  termsOf,
  matcherOf: (text) => matcherOf(termsOf('a parser of links'))(text),
  partsOf,
  stemOf,
  cutLine,
  failedTests,
  failingTests,
  classifyFailure: (text) => classifyFailure(text, { exit: 1 }),
  runnerOf,
  arrangeTestOutput: (text) => arrangeTestOutput(text, 16_384),
  wholeTestOutput,
  parseTestOutput,
  outputText,
  indentOf,
  isAssertion,
  isError,
  isProgramError,
  isTelling,
  stripSpace,
  looksSecret,
  redact: (text) => redact(text, KNOWN),
  findSecrets,
  tokensIn,
  mountsIn,
};

type Shape = (chars: number) => string;
const repeated =
  (unit: string, before = '', after = ''): Shape =>
  (chars) =>
    before + unit.repeat(Math.ceil(chars / unit.length)) + after;

/** A list as deep as `chars` allow: each level is indented further, so the depth is about the root of it. */
const nestedList: Shape = (chars) => {
  const lines: string[] = [];
  for (let size = 0, depth = 0; size < chars; depth += 1) {
    const line = `${'  '.repeat(depth)}- a\n`;
    lines.push(line);
    size += line.length;
  }
  return lines.join('');
};
/** Each anchor is an alias of the one before, ten times. */
const aliases: Shape = (chars) => {
  const lines = ['a0: &a0 [x, x]'];
  for (let size = 0, index = 1; size < chars; index += 1) {
    const line = `a${index}: &a${index} [${Array.from({ length: 10 }, () => `*a${index - 1}`).join(', ')}]`;
    lines.push(line);
    size += line.length;
  }
  return lines.join('\n');
};

export const SHAPES: Readonly<Record<string, Shape>> = {
  'openings of links': repeated('[a]('),
  'links in links': repeated('[a](b '),
  'open brackets': repeated('['),
  'closed brackets': repeated(']'),
  'openings of images': repeated('!['),
  'openings of labels': repeated('[a]['),
  'items with a number': repeated('1. '),
  'items of one line': repeated('- - -'),
  'items in items': repeated('- '),
  'items in items, numbered': repeated('1. ', 'a\n\n'),
  'rules of blanks': repeated('- - -\n'),
  'comments in a paragraph': repeated('<!--', 'a '),
  'instructions in a paragraph': repeated('<?', 'a '),
  'declarations in a paragraph': repeated('<![CDATA[', 'a '),
  'tags with attributes': repeated('<a b', 'a '),
  'items of a list': repeated('- a\n'),
  'a nested list': nestedList,
  'quotes in quotes': repeated('> '),
  'quotes of lines': repeated('> a\n'),
  'paths upwards': repeated('../'),
  'paths of here': repeated('./'),
  slashes: repeated('/'),
  'words with a dot': repeated('\n.'),
  backticks: repeated('`'),
  'backticks of rising length': (chars) => {
    let text = '';
    for (let count = 1; text.length < chars; count += 1) text += `${'`'.repeat(count)} `;
    return text;
  },
  stars: repeated('*a'),
  underscores: repeated('_a'),
  'openings of tags': repeated('<a'),
  'openings of comments': repeated('<!--'),
  entities: repeated('&a'),
  cells: repeated('|a|'),
  'signs of headings': repeated('#'),
  headings: repeated('# a\n'),
  phases: repeated('### Phase 1: A\n'),
  rules: repeated('---\n'),
  'one rule': repeated('-'),
  braces: repeated('{{'),
  'flow maps': repeated('{a: '),
  'flow lists': repeated('[a, '),
  tabs: repeated('\t'),
  blanks: repeated(' ', 'a', 'b'),
  'blanks at ends of lines': repeated('a \n'),
  'empty lines': repeated('\n'),
  'a long word': repeated('a'),
  words: repeated('a '),
  capitals: repeated('A'),
  dots: repeated('.'),
  colons: repeated(':'),
  keys: repeated('a: b\n'),
  'keys of keys': repeated('a:\n '),
  'quotation marks': repeated('"'),
  'an open quotation': repeated('a', '"'),
  backslashes: repeated('\\'),
  'percent signs': repeated('%'),
  tildes: repeated('~'),
  'stars of a pattern': repeated('**/'),
  'aliases of aliases': aliases,
  'tags of YAML': repeated('!!a '),
  'anchors of YAML': repeated('&a '),
};
