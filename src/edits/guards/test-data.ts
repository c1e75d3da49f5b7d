/** Files that tests read, which may be invalid on purpose or hold what no other file of their kind holds. */
const TEST_DATA =
  /(?:^|[/_.-])(?:tests?|__tests__|specs?|fixtures?|test-?data|testing|corpus|fuzz)(?:[_.-][^/]*)?\//i;

/** Returns whether a path is below a folder of tests. */
export const isTestData = (path: string): boolean => TEST_DATA.test(path);
