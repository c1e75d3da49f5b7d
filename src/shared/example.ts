/** The file that the examples of the prompts edit: a menu, which no task is about. A guard looks for its lines in results. */
export const EXAMPLE_PATH = 'example-only/menu.txt';
/** One line changes, one is new. */
export const EXAMPLE = {
  soup: 'price of soup: 4.50',
  bread: 'price of bread: 1.20',
  tea: 'price of tea: 2.00',
  newBread: 'price of bread: 1.50',
  coffee: 'price of coffee: 2.80',
} as const;
/** Says the change in words that are not the file's, so that the found line is seen to come from the file. */
export const EXAMPLE_TASK =
  'Example of the form (not part of any task). Task: bread costs 1.50 now; add coffee for 2.80 below it. File:';

export const EXAMPLE_LINES: ReadonlySet<string> = new Set(Object.values(EXAMPLE));
