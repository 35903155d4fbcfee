import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Kafka's command-line tools in one JVM, which is warm after the first. Each line of the input is a
 * JSON array: the seconds that the tool may take, its main class, its arguments. Each answer is a
 * line, too: the exit code and what it printed. 124 is the code of a tool that took too long.
 */
public class Tools {
    private static final class Exited extends RuntimeException { }

    private static volatile Integer code;
    private static volatile ByteArrayOutputStream printed = new ByteArrayOutputStream();

    public static void main(String[] none) throws Exception {
        PrintStream answers = System.out;
        PrintStream caught = new PrintStream(new OutputStream() {
            public void write(int one) { printed.write(one); }
            public void write(byte[] some, int from, int count) { printed.write(some, from, count); }
        }, true, StandardCharsets.UTF_8);
        System.setOut(caught);
        PrintStream errors = System.err;
        System.setErr(caught);
        for (String name : new String[] {"", "internals."}) trap("org.apache.kafka.common.utils." + name + "Exit");
        ObjectMapper json = new ObjectMapper();
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            JsonNode words = json.readTree(line);
            String[] arguments = new String[words.size() - 2];
            for (int at = 0; at < arguments.length; at++) arguments[at] = words.get(at + 2).asText();
            code = null;
            printed = new ByteArrayOutputStream();
            Thread runs = new Thread(() -> run(words.get(1).asText(), arguments, caught));
            runs.setDaemon(true);
            runs.start();
            runs.join(words.get(0).asLong() * 1000);
            int ended = runs.isAlive() ? 124 : code == null ? 0 : code;
            if (runs.isAlive()) runs.interrupt();
            String text = printed.toString(StandardCharsets.UTF_8);
            answers.println(json.writeValueAsString(Map.of("code", ended, "text", text)));
            answers.flush();
        }
    }

    private static void run(String name, String[] arguments, PrintStream caught) {
        try {
            Method tool = Class.forName(name).getMethod("main", String[].class);
            tool.invoke(null, (Object) arguments);
        } catch (InvocationTargetException failed) {
            Throwable cause = failed.getCause();
            boolean isClosing = cause instanceof NoSuchMethodError missing
                && missing.getMessage().contains("FileRecords.closeHandlers");  // see DumpFiles
            if (cause instanceof Exited || isClosing) return;
            cause.printStackTrace(caught);
            if (code == null) code = 1;
        } catch (ReflectiveOperationException failed) {
            failed.printStackTrace(caught);
            code = 1;
        }
    }

    /** The first exit code counts; a tool's own catch may ask for a second one. */
    private static void trap(String name) throws Exception {
        Class<?> exit, procedure;
        try {
            exit = Class.forName(name);
            procedure = Class.forName(name + "$Procedure");
        } catch (ClassNotFoundException other) {
            return;
        }
        Object ours = Proxy.newProxyInstance(exit.getClassLoader(), new Class<?>[] {procedure}, (self, method, with) -> {
            if (!method.getName().equals("execute")) return method.invoke(exit, with);
            if (code == null) code = (Integer) with[0];
            throw new Exited();
        });
        for (String setter : new String[] {"setExitProcedure", "setHaltProcedure"})
            exit.getMethod(setter, procedure).invoke(null, ours);
    }
}
