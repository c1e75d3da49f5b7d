package p;

/** Counts. */
public class Counter {
  private int n;

  /** Adds. */
  @Override
  public int add(int by) {
    n += by;
    return n;
  }

  public int value() {
    return n;
  }

  public int value() {
    return n;
  }
}
