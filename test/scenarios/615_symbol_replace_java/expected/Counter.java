package p;

/** Counts. */
public class Counter {
  private int n;

  /** Adds. */
  public int add(int by) {
    return n += by;
  }

  public int value() {
    return n;
  }
}
