import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs kafka-dump-log on one file after the other, in one JVM. Arguments: the main class, the files
 * with commas between, and options.
 *
 * The tools of Kafka 4.3.1 on the classes of 4.4.0 read a whole file, and then fail as they close it:
 * FileRecords.closeHandlers is gone. All else that fails, fails here too.
 */
public class DumpFiles {
    public static void main(String[] arguments) throws Throwable {
        Method tool = Class.forName(arguments[0]).getMethod("main", String[].class);
        for (String file : arguments[1].split(",")) {
            List<String> options = new ArrayList<>(Arrays.asList(arguments).subList(2, arguments.length));
            options.addAll(List.of("--files", file));
            try {
                tool.invoke(null, (Object) options.toArray(new String[0]));
            } catch (InvocationTargetException failed) {
                boolean isClosing = failed.getCause() instanceof NoSuchMethodError missing
                    && missing.getMessage().contains("FileRecords.closeHandlers");
                if (!isClosing) throw failed.getCause();
            }
        }
    }
}
