/**
 * Removes absent values where an object leaves the program. Inside, an absent value is null. On the wire its key is missing, which
 * `exactOptionalPropertyTypes` distinguishes from undefined. Pure.
 */

type WithoutAbsent<T, Absent> = {
  [K in keyof T as Absent extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as Absent extends T[K] ? K : never]?: Exclude<T[K], Absent>;
};

/** Returns the object without the keys whose value is null. */
export const withoutNulls = <T extends object>(map: T): WithoutAbsent<T, null> =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null)) as WithoutAbsent<
    T,
    null
  >;

/** Returns the object without the keys whose value is undefined. */
export const withoutUndefined = <T extends object>(map: T): WithoutAbsent<T, undefined> =>
  Object.fromEntries(
    Object.entries(map).filter(([, value]) => value !== undefined),
  ) as WithoutAbsent<T, undefined>;
