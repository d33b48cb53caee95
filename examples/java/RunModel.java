import java.util.Arrays;
import org.argosy.infer.Config;
import org.argosy.infer.Predictor;
import org.argosy.infer.Tensor;

/** Runs a model on ones and prints its first output: java RunModel MODEL. */
public final class RunModel {
  public static void main(String[] arguments) {
    try (Predictor predictor = new Predictor(new Config(arguments[0]).threads(1))) {
      for (String name : predictor.inputNames()) {
        final Tensor input = predictor.input(name);
        final long[] shape = Arrays.stream(input.shape()).map(size -> Math.max(size, 1)).toArray();
        final float[] ones = new float[(int) Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        Arrays.fill(ones, 1);
        input.copyFrom(ones, shape);
      }
      predictor.run();
      final Tensor output = predictor.output(0);
      System.out.println(
          output.name() + ": " + Arrays.toString(output.shape()) + " = "
              + Arrays.toString(output.toFloats()));
    }
  }
}
