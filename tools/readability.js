/**
 * Prints how readable the sources of a commit are, as numbers. Usage: `node tools/readability.js [COMMIT]`, the work tree unless given.
 *
 * The rules of .oxlintrc.jsonc count long functions, complex functions, names and nested ternaries. This program counts the rest itself:
 * conditional spreads, doc comments that begin with a word that begins no sentence, and tokens of code without comments.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const PARTS = ['src', 'test', 'scripts', 'bench', 'demo', 'tools', 'worker.ts', 'client.ts'];
const NO_SOURCES = /^(?:test\/scenarios|demo\/(?:answers|plan))\//;
const CODE = /[.](?:tsx?|jsx?)$/;
const NO_SENTENCE = /^\/\*\*[\s*]*(?:What|Of|Where|As|So)\b/;
const RULES = {
  'eslint(max-lines-per-function)': 'functions over 60 lines',
  'eslint(complexity)': 'functions over complexity 15',
  'emend(declared-name)': 'declared names that are no noun, verb or question',
  'eslint(no-nested-ternary)': 'nested ternaries',
  'emend(literal-spread)': 'spreads of a literal',
};

/** Calls `use` with a directory that holds the files of the commit, or with the work tree. */
const withSources = (commit, use) => {
  if (commit === undefined) return use(root);
  const directory = mkdtempSync(join(tmpdir(), 'readability-'));
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', directory], { input: archive });
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    // Both sides are measured by today's rules.
    for (const path of ['.oxlintrc.jsonc', 'scripts/lint'])
      cpSync(join(root, path), join(directory, path), { recursive: true });
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

/** Returns the paths of the source files in `directory`, relative to it. */
const sourcesOf = (directory) =>
  readdirSync(directory)
    .filter((name) => PARTS.includes(name))
    .flatMap((name) => {
      if (CODE.test(name)) return [name];
      const paths = readdirSync(join(directory, name), { recursive: true, encoding: 'utf8' });
      return paths.map((path) => join(name, path));
    })
    .filter((path) => CODE.test(path) && !NO_SOURCES.test(path));

const warningsOf = (directory) => {
  const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
  const { stdout } = spawnSync(process.execPath, [oxlint, '--format', 'json'], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  return JSON.parse(stdout).diagnostics.map(({ code }) => code);
};

/** Returns whether the node is `...(condition ? a : b)`. */
const isConditionalSpread = (node) => {
  if (!ts.isSpreadAssignment(node) && !ts.isSpreadElement(node)) return false;
  let value = node.expression;
  while (ts.isParenthesizedExpression(value)) value = value.expression;
  return ts.isConditionalExpression(value);
};

const countsOf = (text, path) => {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const counts = { tokens: 0, conditionalSpreads: 0, docComments: 0, noSentences: 0 };
  const comments = new Set();
  const visit = (node) => {
    if (isConditionalSpread(node)) counts.conditionalSpreads++;
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [])
      comments.add(text.slice(pos, end));
    const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child));
    if (children.length === 0 && node.getWidth(file) > 0) counts.tokens++;
    children.forEach(visit);
  };
  visit(file);
  const docs = [...comments].filter((comment) => comment.startsWith('/**'));
  counts.docComments = docs.length;
  counts.noSentences = docs.filter((comment) => NO_SENTENCE.test(comment)).length;
  return counts;
};

const commit = process.argv[2];
withSources(commit, (directory) => {
  const warnings = warningsOf(directory);
  console.log(`${commit ?? 'work tree'}`);
  for (const [rule, text] of Object.entries(RULES))
    console.log(`${String(warnings.filter((code) => code === rule).length).padStart(9)}  ${text}`);
  const totals = { tokens: 0, conditionalSpreads: 0, docComments: 0, noSentences: 0 };
  let sourceTokens = 0;
  for (const path of sourcesOf(directory)) {
    const counts = countsOf(readFileSync(join(directory, path), 'utf8'), path);
    for (const key of Object.keys(totals)) totals[key] += counts[key];
    if (path.startsWith('src/')) sourceTokens += counts.tokens;
  }
  const rows = [
    [totals.conditionalSpreads, 'conditional spreads'],
    [
      totals.noSentences,
      `of ${totals.docComments} doc comments begin with What, Of, Where, As or So`,
    ],
    [sourceTokens, 'tokens of code in src, without comments'],
    [totals.tokens, 'tokens of code in all of it, without comments'],
  ];
  for (const [count, text] of rows) console.log(`${String(count).padStart(9)}  ${text}`);
});
