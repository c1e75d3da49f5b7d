/** Which commands test a change, and where they were found. Types only. */

/** Test commands that were found in the project. */
export interface FoundTests {
  readonly commands: readonly string[];
  /** Where they were found, as it is shown to the user. */
  readonly source: string;
  /** Name of the record that remembers the user's consent to them, as what defines them is now. */
  readonly key: string;
  /** The user confirmed them, or `test_discovery: trust` does. */
  readonly confirmed: boolean;
}
/** The commands that test a change. */
export interface TestPlan {
  readonly commands: readonly string[];
  /** Commands found in the project that nobody approved yet: the run asks once (`test_command`). */
  readonly found: string | null;
  /** Absent: they are configured, or there are none. */
  readonly from?: FoundTests;
}
