/** Finds the test commands that you wrote into the tasks of a phase, or under "Testing Protocols" of CLAUDE.md or AGENTS.md. Pure. */
import { sectionIn } from './thresholds.js';

const TEST_COMMANDS = 20; // bound: Test commands of one source. Further ones are left out.

/** Beginnings of commands that run tests: test runners, and scripts with "test" in their path. */
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

/**
 * Returns the test commands that tasks name in code, in order. A single word (`pytest`) may only be a topic of the task, so it counts only if
 * the task asks to run it.
 */
export const taskCommands = (texts: readonly string[]): readonly string[] =>
  first(
    texts.flatMap((text) =>
      inCode(text).filter((code) => isTest(code) && (code.includes(' ') || RUN.test(text))),
    ),
  );

/**
 * Returns the test commands in the lists of the section: `` - `npm test` ``, `- npm test`, ``- **Test Command**: `./ci unit` ``. All code after a
 * label that ends in "command" counts as a test command.
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
