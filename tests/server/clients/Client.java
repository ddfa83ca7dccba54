import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** What a Java program does with the server; prints one line per check. */
public class Client {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", args[1]);
        properties.setProperty("password", args[2]);
        properties.setProperty("sslmode", "verify-full");
        properties.setProperty("sslrootcert", args[3]);
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        try (Connection connection = DriverManager.getConnection(args[0], properties)) {
            System.out.println("version " + connection.getMetaData().getDatabaseMajorVersion());
            rows(connection);
            prepared(connection);
            types(connection);
            parts(connection);
            failures(connection);
            batch(connection);
            canceled(connection);
        }
    }

    static void rows(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
             ResultSet found = statement.executeQuery("select * from people order by id limit 2")) {
            while (found.next()) {
                System.out.println("row " + found.getInt(1) + " " + found.getString(2) + " "
                    + found.getDate(3) + " " + found.getBigDecimal(4) + " " + found.getObject(5) + " "
                    + found.getObject(6) + " " + found.getTimestamp(7));
            }
        }
    }

    // From the fifth execution on the driver names the statement and asks for binary.
    static void prepared(Connection connection) throws SQLException {
        long sum = 0;
        try (PreparedStatement statement =
                 connection.prepareStatement("select id, weight, born from people where id = ?::int")) {
            for (int number = 1; number <= 12; number++) {
                statement.setInt(1, number);
                try (ResultSet found = statement.executeQuery()) {
                    found.next();
                    sum += found.getInt(1);
                    if (number == 12) {
                        System.out.println("binary " + found.getBigDecimal(2) + " " + found.getDate(3));
                    }
                }
            }
        }
        System.out.println("prepared " + sum);
    }

    static void types(Connection connection) throws SQLException {
        String sql = "select ?::int, ?::bigint, ?::text, ?::boolean, ?::double precision, ?::date, "
            + "?::timestamp, ?::uuid, ?::bytea, ?::text";
        for (int time = 0; time < 7; time++) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setInt(1, 7);
                statement.setLong(2, 1L << 40);
                statement.setString(3, "Gr\u00fc\u00dfe 'quoted'");
                statement.setBoolean(4, true);
                statement.setDouble(5, 0.1);
                statement.setDate(6, java.sql.Date.valueOf("2024-02-29"));
                statement.setTimestamp(7, Timestamp.valueOf("2024-02-29 10:20:30.5"));
                statement.setObject(8, UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"));
                statement.setBytes(9, new byte[] {0, -1});
                statement.setNull(10, Types.VARCHAR);
                try (ResultSet found = statement.executeQuery()) {
                    found.next();
                    StringBuilder line = new StringBuilder("types");
                    for (int column = 1; column <= 8; column++) {
                        line.append(' ').append(found.getObject(column));
                    }
                    line.append(' ').append(found.getBytes(9)[1]).append(' ').append(found.getObject(10));
                    if (time == 6) {
                        System.out.println(line);
                    }
                }
            }
        }
    }

    static void parts(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        int count = 0;
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(60);
            try (ResultSet found = statement.executeQuery("select id from people order by id")) {
                while (found.next()) {
                    count++;
                }
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
        System.out.println("parts " + count);
    }

    static void failures(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        for (String sql : List.of("select * from no_such_table", "select 1")) {
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery(sql);
            } catch (SQLException error) {
                System.out.println("failure " + error.getSQLState());
            }
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    static void batch(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement statement =
                 connection.prepareStatement("insert into people (id, name) values (?::int, ?::text)")) {
            for (int number = 3000; number < 3010; number++) {
                statement.setInt(1, number);
                statement.setString(2, "new");
                statement.addBatch();
            }
            System.out.println("batch " + Arrays.stream(statement.executeBatch()).sum());
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    static void canceled(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            statement.executeQuery("select count(*) from people a, people b, people c, people d "
                + "where a.id + b.id = c.id * d.id");
        } catch (SQLException error) {
            System.out.println("canceled " + error.getSQLState());
        }
    }
}
