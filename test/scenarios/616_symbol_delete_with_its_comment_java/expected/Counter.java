package p;

/** Counts. */
public class Counter {
  private int n;


  public int value() {
    return n;
  }
}
