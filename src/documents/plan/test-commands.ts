/** Test commands that a person wrote down: in the tasks of a phase, and under "Testing Protocols" of CLAUDE.md or AGENTS.md. Pure. */
import { sectionIn } from './score.js';

const TEST_COMMANDS = 20; // bound: Commands of one source; further ones are left out.

/** Runners that test, and scripts whose path speaks of tests; variables may stand before them. */
const RUNNERS = [
  /^(?:npm|pnpm|yarn|bun)(?: run)? test(?:[:-][\w:-]*)?(?=\s|$)|^node (?:\S+ +)*--test\b|^deno test\b/,
  /^(?:(?:npx|bunx|yarn|pnpm(?: exec| dlx)?) )?(?:jest|vitest|mocha|ava|playwright test|cypress run)(?=\s|$)/,
  /^(?:(?:python3? -m|uv run|poetry run) )*(?:pytest|unittest|tox|nox)(?=\s|$)/,
  /^(?:make|just|task|(?:bundle exec )?rake) (?:test|check)(?:[:-][\w:-]*)?(?=\s|$)|^(?:bundle exec )?rspec(?=\s|$)/,
  /^(?:go|cargo|dotnet|mix|swift|sbt|zig build|flutter) (?:nextest run|test)(?=\s|$)|^(?:ctest|phpunit|bats)(?=\s|$)/,
  /^(?:\.\/)?(?:mvnw?|gradlew?)(?: \S+)* (?:\S+:)?(?:test|verify|check)(?=\s|$)/,
  /^(?:(?:sh|bash|node|python3?) +|\.\/)\S*tests?\b\S*/,
] as const;
const isTest = (code: string): boolean => {
  const command = code.replace(/^(?:\w+=\S* +)+/, '');
  return RUNNERS.some((runner) => runner.test(command));
};

const inCode = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`\0\n]+)`/g)].map(([, code = '']) => code.trim());
const first = (commands: readonly string[]): readonly string[] =>
  [...new Set(commands)].slice(0, TEST_COMMANDS);
const RUN = /\b(?:run|runs|running|execute|verify|pass|passes)\b/i;

/** Those that the texts name in code, in order. One word alone (`pytest`) may be only talked about: the text must speak of running it. */
export const taskCommands = (texts: readonly string[]): readonly string[] =>
  first(
    texts.flatMap((text) =>
      inCode(text).filter((code) => isTest(code) && (code.includes(' ') || RUN.test(text))),
    ),
  );

/**
 * What the items of lists in the section say: `` - `npm test` ``, `- npm test`, ``- **Test Command**: `./ci unit` ``. Whatever stands in code
 * behind a label that ends in "command" is one.
 */
export const testingProtocols = (notes: string): readonly string[] =>
  first(
    [
      ...(sectionIn(notes, 'Testing Protocols') ?? '').matchAll(
        /^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(.*)$/gm,
      ),
    ].flatMap(([, item = '']) => {
      const codes = inCode(item);
      if (codes.length === 0) return isTest(item.trim()) ? [item.trim()] : [];
      return /\bcommands?\W*:/i.test(item.split('`')[0] ?? '')
        ? codes
        : codes.filter((code) => isTest(code));
    }),
  );
