namespace P
{
    /// <summary>Counts.</summary>
    public class Counter
    {
        private int n;


        public int Value => n;
    }
}
